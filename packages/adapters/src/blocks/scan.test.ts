import { readHeader } from '@penstock/bitcoin/raw.ts'
import { serialiseTransaction, type Transaction, transactionId } from '@penstock/bitcoin/transaction.ts'
import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { blockScan } from './scan.ts'

const clock = { now: () => 0, sleep: () => Promise.resolve() }
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
