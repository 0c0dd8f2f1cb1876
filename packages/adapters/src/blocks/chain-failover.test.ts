import { Fault } from '@penstock/kernel/result.ts'
import { type Chain, MempoolUnavailable, type ChainOutput } from '@penstock/ports/chain.ts'
import { createJumpingWallClock } from '@penstock/ports/jumping-wall-clock.fixture.ts'
import { expect, test } from 'vitest'
import { createChainFailover } from './chain-failover.ts'

const OUTPOINT = `${'ab'.repeat(32)}:0`
const waiting: ChainOutput = { outpoint: OUTPOINT, valueSat: 7n, script: '00', height: null, txIndex: null, spentBy: null }
const confirmed: ChainOutput = { ...waiting, height: 100, txIndex: 1 }
/** The answer of the node alone, which reads no mempool. */
const unseenSpend: ChainOutput = { ...confirmed, isSpendUnknown: true }
const silent = (): Promise<never> => new Promise(() => undefined)
const away = (): Promise<never> => Promise.reject(new Fault('no answer'))

/** A clock that only its own sleeps advance. Other pending promises settle before a sleep ends. */
function clockOf() {
  let now = 0
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    for (let turn = 0; turn < ms / 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (signal?.aborted !== true) now += ms
  }
  return { now: createJumpingWallClock(() => now), monotonicMs: () => now, sleep }
}

type Fake = {
  height?: number | (() => Promise<number>)
  output?: ChainOutput | undefined | (() => Promise<ChainOutput | undefined>)
}

/** A source with the given height and output, and a list of its output lookups. */
function chain(shown: Fake) {
  const asked: number[] = []
  const fake = {
    sees: { mempool: true },
    async tip() {
      const height = typeof shown.height === 'function' ? await shown.height() : (shown.height ?? 100)
      return { height, hash: `${height}`, previousHash: '', time: 0, synced: true }
    },
    output: (_: string, fromHeight: number) => {
      asked.push(fromHeight)
      return typeof shown.output === 'function' ? shown.output() : Promise.resolve(shown.output)
    },
    feeRate: () => Promise.resolve(3),
  }
  return { asked, chain: fake as unknown as Chain } // the failover polls a chain without `tips`
}

const findOutput = (source: Fake, node: Fake, fromHeight = 90) =>
  createChainFailover(chain(source).chain, chain(node).chain, clockOf()).output(OUTPOINT, fromHeight)

test('a source at the height of the node answers without a call to the node', async () => {
  const [source, node] = [chain({ output: waiting }), chain({ output: confirmed })]
  const both = createChainFailover(source.chain, node.chain, clockOf())
  expect(await both.output(OUTPOINT, 90)).toEqual(waiting)
  expect([source.asked, node.asked]).toEqual([[90], []])
  expect([both.sees.mempool, await both.feeRate(6)]).toEqual([true, 3])
  expect(await findOutput({ height: 101, output: undefined }, { output: confirmed })).toBeUndefined()
})

test('a lookup waits for a source that is briefly behind, and uses the node if the source does not catch up', async () => {
  let tipReads = 0
  const catchingUp = { height: async () => (tipReads++ < 3 ? 99 : 100), output: confirmed }
  const node = chain({ output: away })
  const both = createChainFailover(chain(catchingUp).chain, node.chain, clockOf())
  expect(await both.output(OUTPOINT, 90)).toEqual(confirmed)
  expect(node.asked).toEqual([])
  expect(await findOutput({ height: 99, output: waiting }, { output: confirmed })).toEqual(confirmed)
})

test.each([
  ['unreachable', away],
  ['silent', silent],
])('the node answers if the source is %s', async (_, height) => {
  expect(await findOutput({ height, output: height }, { output: confirmed })).toEqual(unseenSpend)
  const both = createChainFailover(chain({ height }).chain, chain({ height: 100 }).chain, clockOf())
  expect((await both.tip()).height).toBe(100)
})

test('the node answers if the output lookup of the source fails', async () => {
  expect(await findOutput({ output: away }, { output: confirmed })).toEqual(unseenSpend)
})

test('a missing output throws MempoolUnavailable while the source is behind or unreachable', async () => {
  await expect(findOutput({ height: away, output: away }, { output: undefined })).rejects.toThrow(MempoolUnavailable)
  await expect(findOutput({ height: 99, output: undefined }, { output: undefined })).rejects.toThrow('is behind lnd')
  expect(await findOutput({ height: 99, output: waiting }, { output: undefined })).toEqual(waiting)
})

test('a confirmed output that only the source finds throws a Fault, unless its block is below the searched heights', async () => {
  await expect(findOutput({ height: 99, output: confirmed }, { output: undefined })).rejects.toThrow(Fault)
  expect(await findOutput({ height: 120, output: confirmed }, { height: 121, output: undefined }, 110)).toEqual(confirmed)
})

test('an unconfirmed spend from the source is added to the output from the node', async () => {
  const spentBy = { txid: 'cd'.repeat(32), height: null }
  const source = { height: 99, output: { ...confirmed, spentBy } }
  expect((await findOutput(source, { output: confirmed }))?.spentBy).toEqual(spentBy)
  const inBlock = { txid: 'ef'.repeat(32), height: 100 }
  expect((await findOutput(source, { output: { ...confirmed, spentBy: inBlock } }))?.spentBy).toEqual(inBlock)
  const stale = { height: 99, output: { ...confirmed, spentBy: { ...spentBy, height: 98 } } }
  expect(await findOutput(stale, { output: confirmed })).toEqual(unseenSpend)
})

test('the node tells no missing spend, unless a source behind it has read its mempool', async () => {
  expect(await findOutput({ height: 99, output: confirmed }, { output: confirmed })).toEqual(confirmed)
  expect(await findOutput({ height: 99, output: unseenSpend }, { output: confirmed })).toEqual(unseenSpend)
  expect(await findOutput({ output: silent }, { output: confirmed })).toEqual(unseenSpend)
})

test('the tip is the higher tip of the two, and the source answers alone if the node is unreachable', async () => {
  const tipOf = (source: Fake, node: Fake) => createChainFailover(chain(source).chain, chain(node).chain, clockOf()).tip()
  expect((await tipOf({ height: 99 }, { height: 100 })).height).toBe(100)
  expect((await tipOf({ height: 101 }, { height: 100 })).height).toBe(101)
  expect((await tipOf({ height: 101 }, { height: away })).height).toBe(101)
  await expect(tipOf({ height: away }, { height: away })).rejects.toThrow(Fault)
  expect(await findOutput({ output: waiting }, { height: away, output: away })).toEqual(waiting)
})

/** A node at height 100 that stops answering once `hang` is called. */
function hanging() {
  let isHanging = false
  const answer =
    <T>(value: T) =>
    (): Promise<T> =>
      isHanging ? silent() : Promise.resolve(value)
  return { shown: { height: answer(100), output: answer(confirmed) }, hang: () => (isHanging = true) }
}

test("a source below the node's last height is behind, even after the node has stopped answering", async () => {
  const node = hanging()
  const source = { height: 95, output: undefined as ChainOutput | undefined }
  const both = createChainFailover(
    chain({ height: async () => source.height, output: async () => source.output }).chain,
    chain({ ...node.shown, output: away }).chain,
    clockOf(),
  )
  expect((await both.tip()).height).toBe(100)
  node.hang()
  await expect(both.output(OUTPOINT, 90)).rejects.toThrow(Fault)
  await expect(both.tip()).rejects.toThrow('95')
  Object.assign(source, { height: 100, output: confirmed })
  expect([(await both.tip()).height, await both.output(OUTPOINT, 90)]).toEqual([100, confirmed])
})

test('concurrent calls of tip and output use the same height of the node, even if the node hangs between them', async () => {
  const node = hanging()
  const stuck = { height: 95, output: undefined }
  const both = createChainFailover(chain(stuck).chain, chain({ ...node.shown, output: away }).chain, clockOf())
  const tipRead = both.tip().finally(node.hang)
  const [tip, output] = await Promise.allSettled([tipRead, both.output(OUTPOINT, 90)])
  expect(tip).toMatchObject({ value: { height: 100 } })
  expect(output.status).toBe('rejected')
})

test('the failover accepts a tip of the node that is below its previous tip', async () => {
  let height = 100
  const node = chain({ height: async () => height }).chain
  const both = createChainFailover(chain({ height: 98, output: waiting }).chain, node, clockOf())
  expect((await both.tip()).height).toBe(100)
  height = 98
  expect([(await both.tip()).height, await both.output(OUTPOINT, 90)]).toEqual([98, waiting])
})

test('the node answers in time if the source reports its height but hangs at the output lookup', async () => {
  const clock = clockOf()
  const both = createChainFailover(chain({ output: silent }).chain, chain({ output: confirmed }).chain, clock)
  expect(await both.output(OUTPOINT, 90)).toEqual(unseenSpend)
  expect(clock.monotonicMs()).toBeLessThan(10_000)
})

test('tips continue with the node if the source does not advance', async () => {
  const heights = { source: 100, node: 100 }
  const stop = new AbortController()
  const both = createChainFailover(
    chain({ height: async () => heights.source }).chain,
    chain({ height: async () => heights.node }).chain,
    clockOf(),
  )
  const seen: number[] = []
  for await (const { height } of both.tips(stop.signal)) {
    seen.push(height)
    if (height === 100) heights.node = 101
    else if (height === 101) heights.source = 102
    else stop.abort()
  }
  expect(seen).toEqual([100, 101, 102])
})
