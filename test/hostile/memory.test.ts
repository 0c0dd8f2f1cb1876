import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, describe, expect, test } from 'vitest'
import { grown, type Memory, toldMemory, watchMemory } from './memory.ts'

const MIB = 1024 * 1024
const holder = fork(new URL('holder.ts', import.meta.url), { execArgv: ['--expose-gc'] })
afterAll(() => void holder.kill('SIGKILL'))

type Said = { readonly to: number; readonly heapBytes: number }
let asked = 0

/** @returns what the other process holds after it was told something */
async function told(what: string): Promise<Said> {
  const own = ++asked
  holder.send({ what, to: own })
  for (;;) {
    const [said] = (await once(holder, 'message')) as [Said] // as holder.ts sends it
    if (said.to === own) return said
  }
}
const inside = async () => ({ pid: holder.pid ?? assert.fail(), files: 0, heapBytes: (await told('look')).heapBytes })

describe('memory that a process takes', () => {
  test('shows although it is given back before the end', async () => {
    const calm = await (await watchMemory(inside)).stop()
    expect(grown(calm)).toEqual([])

    const watch = await watchMemory(inside)
    await told('have resident')
    const resident = await watch.stop()
    assert.ok(resident.rssPeakBytes > 800 * MIB && resident.heapGrowthBytes < 16 * MIB)
    expect(grown(resident)).toEqual([expect.stringMatching(/MiB were resident at the highest/)])
  })

  test('shows in the heap at the next look, and where it is kept', async () => {
    const watch = await watchMemory(inside)
    await told('take heap')
    const kept = await watch.stop()
    expect(grown(kept)).toContainEqual(expect.stringMatching(/the heap grew by/))
    expect(grown(kept)).toContainEqual(expect.stringMatching(/the heap had .* more at its highest/))
    await told('give back')
  })

  test('shows where it is kept in buffers, which are outside of the heap', async () => {
    const watch = await watchMemory(inside)
    await told('take buffers')
    const kept = await watch.stop()
    assert.ok(kept.heapGrowthBytes > 90 * MIB, toldMemory(kept))
    expect(grown(kept)).toContainEqual(expect.stringMatching(/the heap grew by/))
    await told('give back')
  })

  test('is bounded by each of its measures', () => {
    const none: Memory = { heapGrowthBytes: 0, heapPeakBytes: 0, rssPeakBytes: 0, newFiles: 0 }
    expect(grown(none)).toEqual([])
    for (const name of ['heapGrowthBytes', 'heapPeakBytes', 'rssPeakBytes', 'newFiles'] as const) {
      expect(grown({ ...none, [name]: 1e9 })).toHaveLength(1)
      expect(grown({ ...none, [name]: Number.NaN })).toHaveLength(1)
    }
  })
})
