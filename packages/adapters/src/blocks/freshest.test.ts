import { Fault } from '@penstock/kernel/result.ts'
import { type Chain, MempoolUnseen, type Output } from '@penstock/ports/chain.ts'
import { jumpingWall } from '@penstock/ports/jumping-wall.contract.ts'
import { expect, test } from 'vitest'
import { freshestChain } from './freshest.ts'

const OUTPOINT = `${'ab'.repeat(32)}:0`
const waiting: Output = { outpoint: OUTPOINT, valueSat: 7n, script: '00', height: null, txIndex: null, spentBy: null }
const confirmed: Output = { ...waiting, height: 100, txIndex: 1 }
const silent = (): Promise<never> => new Promise(() => undefined)
const away = (): Promise<never> => Promise.reject(new Fault('no answer'))

/** Its time passes by its sleeps alone, and those who wait for something else do not see it pass. */
function clockOf() {
  let now = 0
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    for (let turn = 0; turn < ms / 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    if (signal?.aborted !== true) now += ms
  }
  return { now: jumpingWall(() => now), monotonicMs: () => now, sleep }
}

type Shown = { height?: number | (() => Promise<number>); output?: Output | undefined | (() => Promise<Output | undefined>) }

/** A source that shows this, and how often it was asked for outputs. */
function chain(shown: Shown) {
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
  return { asked, chain: fake as unknown as Chain } // tips are made of the others
}

const look = (source: Shown, node: Shown, fromHeight = 90) =>
  freshestChain(chain(source).chain, chain(node).chain, clockOf()).output(OUTPOINT, fromHeight)

test('a source that is as far as the node is asked alone', async () => {
  const [source, node] = [chain({ output: waiting }), chain({ output: confirmed })]
  const both = freshestChain(source.chain, node.chain, clockOf())
  expect(await both.output(OUTPOINT, 90)).toEqual(waiting)
  expect([source.asked, node.asked]).toEqual([[90], []])
  expect([both.sees.mempool, await both.feeRate(6)]).toEqual([true, 3])
  expect(await look({ height: 101, output: undefined }, { output: confirmed })).toBeUndefined()
})

test('one that is a moment behind is waited for, one that stays behind is not believed', async () => {
  let asked = 0
  const late = { height: async () => (asked++ < 3 ? 99 : 100), output: confirmed }
  const node = chain({ output: away })
  const both = freshestChain(chain(late).chain, node.chain, clockOf())
  expect(await both.output(OUTPOINT, 90)).toEqual(confirmed)
  expect(node.asked).toEqual([])
  expect(await look({ height: 99, output: waiting }, { output: confirmed })).toEqual(confirmed)
})

test.each([
  ['away', away],
  ['silent', silent],
])('a source that is %s leaves the word to the node', async (_, height) => {
  expect(await look({ height, output: height }, { output: confirmed })).toEqual(confirmed)
  const both = freshestChain(chain({ height }).chain, chain({ height: 100 }).chain, clockOf())
  expect((await both.tip()).height).toBe(100)
})

test('one that fails over the look itself too', async () => {
  expect(await look({ output: away }, { output: confirmed })).toEqual(confirmed)
})

test('what no block has may be waiting in a mempool: nobody who cannot see one says that it is not there', async () => {
  await expect(look({ height: away, output: away }, { output: undefined })).rejects.toThrow(MempoolUnseen)
  await expect(look({ height: 99, output: undefined }, { output: undefined })).rejects.toThrow('is behind lnd or away')
  expect(await look({ height: 99, output: waiting }, { output: undefined })).toEqual(waiting)
})

test('a block of the source that the node no longer has is not believed, one below the search is', async () => {
  await expect(look({ height: 99, output: confirmed }, { output: undefined })).rejects.toThrow(Fault)
  expect(await look({ height: 120, output: confirmed }, { height: 121, output: undefined }, 110)).toEqual(confirmed)
})

test('a spend that waits is seen beside the node’s blocks', async () => {
  const spentBy = { txid: 'cd'.repeat(32), height: null }
  const source = { height: 99, output: { ...confirmed, spentBy } }
  expect((await look(source, { output: confirmed }))?.spentBy).toEqual(spentBy)
  const inBlock = { txid: 'ef'.repeat(32), height: 100 }
  expect((await look(source, { output: { ...confirmed, spentBy: inBlock } }))?.spentBy).toEqual(inBlock)
  const stale = { height: 99, output: { ...confirmed, spentBy: { ...spentBy, height: 98 } } }
  expect((await look(stale, { output: confirmed }))?.spentBy).toBeNull()
})

test('the tip is that of who is further; without the node the source goes on alone', async () => {
  const tipOf = (source: Shown, node: Shown) => freshestChain(chain(source).chain, chain(node).chain, clockOf()).tip()
  expect((await tipOf({ height: 99 }, { height: 100 })).height).toBe(100)
  expect((await tipOf({ height: 101 }, { height: 100 })).height).toBe(101)
  expect((await tipOf({ height: 101 }, { height: away })).height).toBe(101)
  await expect(tipOf({ height: away }, { height: away })).rejects.toThrow(Fault)
  expect(await look({ output: waiting }, { height: away, output: away })).toEqual(waiting)
})

/** A node that is at 100, and says nothing from when it is told to. */
function hanging() {
  let isHanging = false
  const answer =
    <T>(value: T) =>
    (): Promise<T> =>
      isHanging ? silent() : Promise.resolve(value)
  return { shown: { height: answer(100), output: answer(confirmed) }, hang: () => (isHanging = true) }
}

test('a source that is below what the node told last is behind, also where the node says nothing any more', async () => {
  const node = hanging()
  const source = { height: 95, output: undefined as Output | undefined }
  const both = freshestChain(
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

test('height and output that are asked for together fit together, wherever the node begins to hang', async () => {
  const node = hanging()
  const stuck = { height: 95, output: undefined }
  const both = freshestChain(chain(stuck).chain, chain({ ...node.shown, output: away }).chain, clockOf())
  const told = both.tip().finally(node.hang)
  const [tip, output] = await Promise.allSettled([told, both.output(OUTPOINT, 90)])
  expect(tip).toMatchObject({ value: { height: 100 } })
  expect(output.status).toBe('rejected')
})

test('a node whose chain has become shorter is believed', async () => {
  let height = 100
  const node = chain({ height: async () => height }).chain
  const both = freshestChain(chain({ height: 98, output: waiting }).chain, node, clockOf())
  expect((await both.tip()).height).toBe(100)
  height = 98
  expect([(await both.tip()).height, await both.output(OUTPOINT, 90)]).toEqual([98, waiting])
})

test('a source that tells its height and hangs at an output leaves the word to the node while others still wait', async () => {
  const clock = clockOf()
  const both = freshestChain(chain({ output: silent }).chain, chain({ output: confirmed }).chain, clock)
  expect(await both.output(OUTPOINT, 90)).toEqual(confirmed)
  expect(clock.monotonicMs()).toBeLessThan(10_000)
})

test('tips go on by the node where the source stands still', async () => {
  const heights = { source: 100, node: 100 }
  const stop = new AbortController()
  const both = freshestChain(
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
