import { readHeader } from '@penstock/bitcoin/raw-encoding.ts'
import { serialiseTransaction, type Transaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { createBlockScanner } from './block-scanner.ts'

const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() }
const funding: Transaction = { inputs: [{ txid: 'aa'.repeat(32), vout: 0 }], outputs: [{ valueSat: 7n, script: '0020' }] }
const txid = transactionId(funding)
const spending: Transaction = { inputs: [{ txid, vout: 0 }], outputs: [{ valueSat: 6n, script: '51' }] }
const other = (nonce: number): Transaction => ({
  inputs: [{ txid: 'bb'.repeat(32), vout: nonce }],
  outputs: [{ valueSat: 1n, script: '52' }],
})

type Block = { readonly hash: string; readonly raw: string }

/** A chain in memory, in which each block begins with a different transaction. */
function chain() {
  let nonce = 0
  const blocks: Block[] = []
  const read: number[] = []
  const add = (...transactions: readonly Transaction[]): void => {
    const previous = blocks.at(-1)?.hash ?? '00'.repeat(32)
    const header = `01000000${Buffer.from(previous, 'hex').reverse().toString('hex')}${'00'.repeat(32)}${(++nonce).toString(16).padStart(8, '0')}${'00'.repeat(8)}`
    const all = [other(nonce), ...transactions]
    const raw = `${header}${all.length.toString(16).padStart(2, '0')}${all.map(serialiseTransaction).join('')}`
    blocks.push({ hash: readHeader(header).hash, raw })
  }
  let isDown = false
  const source = {
    tipHeight: async () => blocks.length - 1,
    hashAt: async (height: number) => blocks[height]?.hash ?? '',
    async block(hash: string) {
      if (isDown) throw new Fault('no answer')
      const height = blocks.findIndex((block) => block.hash === hash)
      read.push(height)
      return blocks[height]?.raw ?? ''
    },
  }
  return { source, add, read, cut: (count: number) => blocks.splice(-count), down: (now: boolean) => (isDown = now) }
}

test('concurrent lookups find outputs and their spends, and read each block only once', async () => {
  const { source, add, read } = chain()
  add()
  add(funding)
  add()
  const scan = createBlockScanner(source, clock)
  const outpoints = [`${txid}:0`, `${txid}:1`, `${'cc'.repeat(32)}:0`]
  const [found, wrongIndex, missing] = await Promise.all(outpoints.map((outpoint) => scan.output(outpoint, 1)))
  expect(found).toEqual({ outpoint: `${txid}:0`, valueSat: 7n, script: '0020', height: 1, txIndex: 1, spentBy: null })
  expect([wrongIndex, missing]).toEqual([undefined, undefined])
  expect(read.length).toBeLessThanOrEqual(4)
  read.length = 0
  add(spending)
  expect((await scan.output(`${txid}:0`, 1))?.spentBy).toEqual({ txid: transactionId(spending), height: 3 })
  expect(read).toEqual([3])
})

test('an output below the given height is not found until a lookup starts at its height', async () => {
  const { source, add } = chain()
  add(funding)
  add()
  const scan = createBlockScanner(source, clock)
  expect(await scan.output(`${txid}:0`, 1)).toBeUndefined()
  expect((await scan.output(`${txid}:0`, 0))?.height).toBe(0)
})

test('a re-organisation rolls back the results of the replaced blocks', async () => {
  const { source, add, cut } = chain()
  add()
  add(funding)
  add(spending)
  const scan = createBlockScanner(source, clock)
  expect((await scan.output(`${txid}:0`, 0))?.spentBy?.height).toBe(2)
  cut(1)
  add()
  add()
  expect(await scan.output(`${txid}:0`, 0)).toMatchObject({ height: 1, spentBy: null })
  cut(3)
  add()
  expect(await scan.output(`${txid}:0`, 0)).toBeUndefined()
  add()
  add(funding, spending)
  expect(await scan.output(`${txid}:0`, 0)).toMatchObject({ height: 3, spentBy: { height: 3 } })
})

test('a lookup after a failure of the source continues at the failed block', async () => {
  const { source, add, down } = chain()
  add()
  add(funding)
  const scan = createBlockScanner(source, clock)
  down(true)
  await expect(scan.output(`${txid}:0`, 0)).rejects.toThrow('no answer')
  down(false)
  expect((await scan.output(`${txid}:0`, 0))?.height).toBe(1)
  expect(await scan.output('not an outpoint', 0)).toBeUndefined()
})

/** Delays each block read until the test opens its gate. */
function slowly({ source, ...rest }: ReturnType<typeof chain>) {
  const gates: (() => void)[] = []
  const block = async (hash: string): Promise<string> => {
    // The block is read before the delay, like a node that still has a replaced block.
    const raw = await source.block(hash)
    await new Promise<void>((resolve) => gates.push(resolve))
    return raw
  }
  return { ...rest, source: { ...source, block }, gates }
}

/** Releases block reads until the promise settles. @returns its value and the number of released reads */
async function releaseUntil<T>(gates: (() => void)[], promise: Promise<T>): Promise<readonly [T, number]> {
  let isOver = false
  const over = promise.finally(() => (isOver = true))
  let count = 0
  while (!isOver && count < 1000) {
    const next = gates.shift()
    if (next) count++
    next?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (!isOver) throw new Error(`no result after ${count} blocks`)
  return [await over, count]
}

test('a lookup from a recent height does not wait for lookups from old heights', async () => {
  const slow = slowly(chain())
  for (let height = 0; height < 50_000; height++) slow.add()
  slow.add(funding)
  for (let height = 0; height < 3; height++) slow.add()
  const scan = createBlockScanner(slow.source, clock)
  let isOldDone = false
  const old = [0, 7].map((from) => scan.output(`${'cc'.repeat(32)}:${from}`, from))
  void Promise.all(old).then(() => (isOldDone = true))
  await waitUntil('a block is read', () => slow.gates.length > 0)
  const [found, reads] = await releaseUntil(slow.gates, scan.output(`${txid}:0`, 49_998))
  expect(found).toMatchObject({ height: 50_000, spentBy: null })
  expect(reads).toBeLessThanOrEqual(10)
  // A second lookup reads at most three more blocks, while the old lookups are still unfinished.
  slow.add(spending)
  const [spent, moreReads] = await releaseUntil(slow.gates, scan.output(`${txid}:0`, 49_998))
  expect([spent?.spentBy?.height, moreReads <= 3, isOldDone]).toEqual([50_004, true, false])
})

test('1000 lookups from different heights read at most three times as many blocks as the longest of them', async () => {
  const { source, add, read } = chain()
  for (let height = 0; height < 1000; height++) add()
  const scan = createBlockScanner(source, clock)
  await Promise.all(Array.from({ length: 1000 }, (_, from) => scan.output(`${'cc'.repeat(32)}:${from}`, from)))
  expect(read.length).toBeLessThanOrEqual(3 * 1000)
})

test('a later lookup rereads only the recent blocks that contain its transaction or a spend of it', async () => {
  const { source, add, read, cut } = chain()
  for (let height = 0; height < 50; height++) add()
  add(funding)
  for (let height = 0; height < 50; height++) add()
  const scan = createBlockScanner(source, clock)
  expect(await scan.output(`${'cc'.repeat(32)}:0`, 1)).toBeUndefined()
  read.length = 0
  expect(await scan.output(`${'dd'.repeat(32)}:0`, 1)).toBeUndefined()
  expect(read).toEqual([])
  expect(await scan.output(`${txid}:0`, 1)).toMatchObject({ height: 50, spentBy: null })
  expect(read).toEqual([50])
  // Blocks that a re-organisation replaced are read again.
  cut(2)
  add()
  add(spending)
  add()
  expect((await scan.output(`${txid}:0`, 1))?.spentBy?.height).toBe(100)
  read.length = 0
  expect((await scan.output(`${txid}:1`, 99))?.spentBy).toBeUndefined()
  expect(read).toEqual([100])
})

test('a re-organisation during a lookup from an old height rolls back all lookups, even across unread blocks', async () => {
  const slow = slowly(chain())
  for (let height = 0; height < 20; height++) slow.add()
  slow.add(funding, spending)
  for (let height = 0; height < 10; height++) slow.add()
  const scan = createBlockScanner(slow.source, clock)
  const pass = async (count: number): Promise<void> => {
    for (let passed = 0; passed < count; passed++) {
      await waitUntil('a block is read', () => slow.gates.length > 0, undefined, 1)
      slow.gates.shift()?.()
    }
  }
  const old = scan.output(`${txid}:0`, 10)
  await pass(14)
  const recent = scan.output(`${'cc'.repeat(32)}:0`, 28)
  await pass(2)
  await waitUntil('block 29 is read', () => slow.read.at(-1) === 29, undefined, 1)
  slow.cut(12)
  for (let height = 0; height < 8; height++) slow.add()
  slow.add(funding)
  for (let height = 0; height < 6; height++) slow.add()
  expect((await releaseUntil(slow.gates, recent))[0]).toBeUndefined()
  expect((await releaseUntil(slow.gates, old))[0]).toMatchObject({ height: 27, spentBy: null })
})
