import { readHeader } from '@penstock/bitcoin/raw.ts'
import { serialiseTransaction, type Transaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test, vi } from 'vitest'
import { blockScan } from './scan.ts'

const clock = { now: () => 0, monotonicMs: () => 0, sleep: () => Promise.resolve() }
const funding: Transaction = { inputs: [{ txid: 'aa'.repeat(32), vout: 0 }], outputs: [{ valueSat: 7n, script: '0020' }] }
const txid = transactionId(funding)
const spending: Transaction = { inputs: [{ txid, vout: 0 }], outputs: [{ valueSat: 6n, script: '51' }] }
const other = (nonce: number): Transaction => ({
  inputs: [{ txid: 'bb'.repeat(32), vout: nonce }],
  outputs: [{ valueSat: 1n, script: '52' }],
})

type Block = { readonly hash: string; readonly raw: string }

/** A chain in memory; each block has a transaction of its own first. */
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

test('finds an output and what spends it, reading each block once for all that ask', async () => {
  const { source, add, read } = chain()
  add()
  add(funding)
  add()
  const scan = blockScan(source, clock)
  const asked = [`${txid}:0`, `${txid}:1`, `${'cc'.repeat(32)}:0`]
  const [found, wrong, missing] = await Promise.all(asked.map((outpoint) => scan.output(outpoint, 1)))
  expect(found).toEqual({ outpoint: `${txid}:0`, valueSat: 7n, script: '0020', height: 1, txIndex: 1, spentBy: null })
  expect([wrong, missing]).toEqual([undefined, undefined])
  expect(read.length).toBeLessThanOrEqual(4)
  read.length = 0
  add(spending)
  expect((await scan.output(`${txid}:0`, 1))?.spentBy).toEqual({ txid: transactionId(spending), height: 3 })
  expect(read).toEqual([3])
})

test('does not find what lies below where it is told to look, and looks there when it is told to', async () => {
  const { source, add } = chain()
  add(funding)
  add()
  const scan = blockScan(source, clock)
  expect(await scan.output(`${txid}:0`, 1)).toBeUndefined()
  expect((await scan.output(`${txid}:0`, 0))?.height).toBe(0)
})

test('takes back what a re-org replaced', async () => {
  const { source, add, cut } = chain()
  add()
  add(funding)
  add(spending)
  const scan = blockScan(source, clock)
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

test('a source that fails is asked again where it left off', async () => {
  const { source, add, down } = chain()
  add()
  add(funding)
  const scan = blockScan(source, clock)
  down(true)
  await expect(scan.output(`${txid}:0`, 0)).rejects.toThrow('no answer')
  down(false)
  expect((await scan.output(`${txid}:0`, 0))?.height).toBe(1)
  expect(await scan.output('rubbish', 0)).toBeUndefined()
})

/** Reads one block when told. */
function slowly({ source, ...rest }: ReturnType<typeof chain>) {
  const gates: (() => void)[] = []
  const block = async (hash: string): Promise<string> => {
    // A node keeps what a re-org replaced.
    const raw = await source.block(hash)
    await new Promise<void>((resolve) => gates.push(resolve))
    return raw
  }
  return { ...rest, source: { ...source, block }, gates }
}

/** Lets blocks be read until it is answered. @returns how many */
async function answered<T>(gates: (() => void)[], waited: Promise<T>): Promise<readonly [T, number]> {
  let isOver = false
  const over = waited.finally(() => (isOver = true))
  let count = 0
  while (!isOver && count < 1000) {
    const next = gates.shift()
    if (next) count++
    next?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (!isOver) throw new Error(`there is no answer after ${count} blocks`)
  return [await over, count]
}

test('who asks from a recent height does not wait for old ranges', async () => {
  const slow = slowly(chain())
  for (let height = 0; height < 50_000; height++) slow.add()
  slow.add(funding)
  for (let height = 0; height < 3; height++) slow.add()
  const scan = blockScan(slow.source, clock)
  let isOldDone = false
  const old = [0, 7].map((from) => scan.output(`${'cc'.repeat(32)}:${from}`, from))
  void Promise.all(old).then(() => (isOldDone = true))
  await vi.waitUntil(() => slow.gates.length > 0)
  const [found, reads] = await answered(slow.gates, scan.output(`${txid}:0`, 49_998))
  expect(found).toMatchObject({ height: 50_000, spentBy: null })
  expect(reads).toBeLessThanOrEqual(10)
  // Nor for the blocks that are made meanwhile, nor for another range of its own length.
  slow.add(spending)
  const [spent, more] = await answered(slow.gates, scan.output(`${txid}:0`, 49_998))
  expect([spent?.spentBy?.height, more <= 3, isOldDone]).toEqual([50_004, true, false])
})

test('ranges of about the same length are read together, and all of them in no more than three times the longest', async () => {
  const { source, add, read } = chain()
  for (let height = 0; height < 1000; height++) add()
  const scan = blockScan(source, clock)
  await Promise.all(Array.from({ length: 1000 }, (_, from) => scan.output(`${'cc'.repeat(32)}:${from}`, from)))
  expect(read.length).toBeLessThanOrEqual(3 * 1000)
})

test('what was read lately is not read again for who asks later, but where there is something of it', async () => {
  const { source, add, read, cut } = chain()
  for (let height = 0; height < 50; height++) add()
  add(funding)
  for (let height = 0; height < 50; height++) add()
  const scan = blockScan(source, clock)
  expect(await scan.output(`${'cc'.repeat(32)}:0`, 1)).toBeUndefined()
  read.length = 0
  expect(await scan.output(`${'dd'.repeat(32)}:0`, 1)).toBeUndefined()
  expect(read).toEqual([])
  expect(await scan.output(`${txid}:0`, 1)).toMatchObject({ height: 50, spentBy: null })
  expect(read).toEqual([50])
  // Nothing is believed of blocks that are no more.
  cut(2)
  add()
  add(spending)
  add()
  expect((await scan.output(`${txid}:0`, 1))?.spentBy?.height).toBe(100)
  read.length = 0
  expect((await scan.output(`${txid}:1`, 99))?.spentBy).toBeUndefined()
  expect(read).toEqual([100])
})

test('a re-org while an old range is read is taken back in all ranges, also across what nobody has read', async () => {
  const slow = slowly(chain())
  for (let height = 0; height < 20; height++) slow.add()
  slow.add(funding, spending)
  for (let height = 0; height < 10; height++) slow.add()
  const scan = blockScan(slow.source, clock)
  const pass = async (count: number): Promise<void> => {
    for (let passed = 0; passed < count; passed++) {
      await vi.waitUntil(() => slow.gates.length > 0, { interval: 1 })
      slow.gates.shift()?.()
    }
  }
  const old = scan.output(`${txid}:0`, 10)
  await pass(14)
  const recent = scan.output(`${'cc'.repeat(32)}:0`, 28)
  await pass(2)
  await vi.waitUntil(() => slow.read.at(-1) === 29, { interval: 1 })
  slow.cut(12)
  for (let height = 0; height < 8; height++) slow.add()
  slow.add(funding)
  for (let height = 0; height < 6; height++) slow.add()
  expect((await answered(slow.gates, recent))[0]).toBeUndefined()
  expect((await answered(slow.gates, old))[0]).toMatchObject({ height: 27, spentBy: null })
})
