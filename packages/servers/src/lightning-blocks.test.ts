import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keptBlocks } from './lightning-blocks.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'penstock-blocks-'))))
afterEach(() => rmSync(folder, { recursive: true }))

/** A chain whose blocks are `h0`, `h1` …, so far as it has been made. */
function chain(height: number) {
  const submitted: unknown[] = []
  const number = (hash: unknown): number => Number(String(hash).slice(1))
  const calls: Readonly<Record<string, (asked: unknown) => unknown>> = {
    getblockhash: () => 'h0',
    getbestblockhash: () => `h${height}`,
    getblock: (hash) => `raw${number(hash)}`,
    getblockheader: (hash) => ({ previousblockhash: `h${number(hash) - 1}` }),
    submitblock: (raw) => submitted.push(raw),
  }
  // The answers above have no types of their own.
  const rpc = async <T>(method: string, asked: unknown): Promise<T> => calls[method]?.(asked) as T
  return { rpc, submitted, grow: () => void (height += 1) }
}

test('blocks are noted once, parents first', async () => {
  const file = join(folder, 'blocks')
  const { rpc, grow } = chain(2)
  const blocks = keptBlocks(file, rpc)
  await blocks.keep()
  await blocks.keep()
  grow()
  await blocks.keep()
  expect(readFileSync(file, 'utf8')).toBe('h1 raw1\nh2 raw2\nh3 raw3\n')
})

test('a line that a kill cut off is made anew, and the chain comes back whole', async () => {
  const file = join(folder, 'blocks')
  for (const torn of ['h2 ra', 'h', 'h2 raw2']) {
    writeFileSync(file, `h1 raw1\n${torn}`)
    const { rpc, submitted } = chain(3)
    const blocks = keptBlocks(file, rpc)
    await blocks.replay()
    expect(submitted).toEqual(['raw1'])
    await blocks.keep()
    expect(readFileSync(file, 'utf8')).toBe('h1 raw1\nh2 raw2\nh3 raw3\n')
  }
})
