import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBlockArchive } from './lightning-blocks.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'penstock-blocks-'))))
afterEach(() => rmSync(folder, { recursive: true }))

/** A fake chain with the blocks `h0`, `h1` … up to the height. */
function chain(height: number) {
  const submitted: unknown[] = []
  const number = (hash: unknown): number => Number(String(hash).slice(1))
  const calls: Readonly<Record<string, (param: unknown) => unknown>> = {
    getblockhash: () => 'h0',
    getbestblockhash: () => `h${height}`,
    getblock: (hash) => `raw${number(hash)}`,
    getblockheader: (hash) => ({ previousblockhash: `h${number(hash) - 1}` }),
    submitblock: (raw) => submitted.push(raw),
  }
  // The answers of the fake are untyped.
  const rpc = async <T>(method: string, param: unknown): Promise<T> => calls[method]?.(param) as T
  return { rpc, submitted, grow: () => void (height += 1) }
}

test('save appends each block once, parents first', async () => {
  const file = join(folder, 'blocks')
  const { rpc, grow } = chain(2)
  const blocks = createBlockArchive(file, rpc)
  await blocks.save()
  await blocks.save()
  grow()
  await blocks.save()
  expect(readFileSync(file, 'utf8')).toBe('h1 raw1\nh2 raw2\nh3 raw3\n')
})

test('replay ignores an incomplete last line, and save writes its block again', async () => {
  const file = join(folder, 'blocks')
  for (const torn of ['h2 ra', 'h', 'h2 raw2']) {
    writeFileSync(file, `h1 raw1\n${torn}`)
    const { rpc, submitted } = chain(3)
    const blocks = createBlockArchive(file, rpc)
    await blocks.replay()
    expect(submitted).toEqual(['raw1'])
    await blocks.save()
    expect(readFileSync(file, 'utf8')).toBe('h1 raw1\nh2 raw2\nh3 raw3\n')
  }
})
