import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, describe, expect, test } from 'vitest'
import { checkMemory, type MemoryUse, formatMemory, watchMemory } from './memory.ts'

const MIB = 1024 * 1024
const memoryHog = fork(new URL('memory-hog.ts', import.meta.url), { execArgv: ['--expose-gc'] })
afterAll(() => void memoryHog.kill('SIGKILL'))

/** `to` is the id of the request that this report answers. */
type MemoryReport = { readonly to: number; readonly heapBytes: number }
let requests = 0

/** Sends a request to the process of memory-hog.ts. @returns the memory of that process after the request */
async function send(request: string): Promise<MemoryReport> {
  const requestId = ++requests
  memoryHog.send({ what: request, to: requestId })
  for (;;) {
    const [report] = (await once(memoryHog, 'message')) as [MemoryReport] // as memory-hog.ts sends it
    if (report.to === requestId) return report
  }
}
const readProcess = async () => ({ pid: memoryHog.pid ?? assert.fail(), files: 0, heapBytes: (await send('report')).heapBytes })

describe('memory that a process takes', () => {
  test('is reported as a peak of resident memory even if it is freed before the end', async () => {
    const idle = await (await watchMemory(readProcess)).stop()
    expect(checkMemory(idle)).toEqual([])

    const watch = await watchMemory(readProcess)
    await send('allocate briefly')
    const resident = await watch.stop()
    assert.ok(resident.rssPeakBytes > 800 * MIB && resident.heapGrowthBytes < 16 * MIB)
    expect(checkMemory(resident)).toEqual([expect.stringMatching(/MiB were resident at the highest/)])
  })

  test('is reported as a peak and as growth of the heap if it is not freed', async () => {
    const watch = await watchMemory(readProcess)
    await send('allocate heap')
    const measured = await watch.stop()
    expect(checkMemory(measured)).toContainEqual(expect.stringMatching(/the heap grew by/))
    expect(checkMemory(measured)).toContainEqual(expect.stringMatching(/the heap had .* more at its highest/))
    await send('free all')
  })

  test('is reported as growth of the heap if buffers use it, because their memory counts as heap', async () => {
    const watch = await watchMemory(readProcess)
    await send('allocate buffers')
    const measured = await watch.stop()
    assert.ok(measured.heapGrowthBytes > 90 * MIB, formatMemory(measured))
    expect(checkMemory(measured)).toContainEqual(expect.stringMatching(/the heap grew by/))
    await send('free all')
  })

  test('has a limit for each of its figures', () => {
    const none: MemoryUse = { heapGrowthBytes: 0, heapPeakBytes: 0, rssPeakBytes: 0, newFiles: 0 }
    expect(checkMemory(none)).toEqual([])
    for (const name of ['heapGrowthBytes', 'heapPeakBytes', 'rssPeakBytes', 'newFiles'] as const) {
      expect(checkMemory({ ...none, [name]: 1e9 })).toHaveLength(1)
      expect(checkMemory({ ...none, [name]: Number.NaN })).toHaveLength(1)
    }
  })
})
