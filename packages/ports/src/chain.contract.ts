import { HOUR_MS } from '@penstock/kernel/time.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chain, ChainTip } from './chain.ts'
import { waitForValue } from './wait-for-value.fixture.ts'

export type ChainFixture = {
  readonly chain: Chain
  /** Mines blocks. Resolves when the source has seen them. */
  readonly mine: (count: number) => Promise<void>
  /** Puts a transaction into the mempool. @returns the outpoint of one of its outputs */
  readonly send: () => Promise<string>
  /** Puts a transaction into the mempool that spends this output. @returns its id */
  readonly spend: (outpoint: string) => Promise<string>
  /** Replaces the last blocks by a longer branch; their transactions may be in the mempool again or in the new branch. */
  readonly reorganise?: (depth: number) => Promise<void>
  /** Replaces an unconfirmed transaction by another that spends the same coins. */
  readonly replace?: (txid: string) => Promise<void>
  /** The wall clock of the nodes; by default the clock of this machine. */
  readonly now?: () => number
  readonly teardown: () => Promise<void>
}

/** Cases that every chain source must pass. `features` selects the cases that need `reorganise` or `replace` of the fixture. */
export function chainContract(
  name: string,
  open: () => Promise<ChainFixture>,
  features: { readonly reorgs: boolean; readonly replacements: boolean },
): void {
  describe(`chain: ${name}`, () => {
    let fixture: ChainFixture
    beforeAll(async () => {
      fixture = await open()
    }, 120_000)
    afterAll(() => fixture.teardown())
    const here = { fixture: () => fixture }
    testTips(here)
    testOutputs(here)
    if (features.reorgs) testReorganisations(here)
    if (features.replacements) testReplacements(here)
  })
}

type SuiteContext = { readonly fixture: () => ChainFixture }

function testTips({ fixture }: SuiteContext): void {
  describe('blocks', () => {
    it('form a chain: each new tip refers to the block before it', async () => {
      const { chain, mine, now = Date.now } = fixture()
      const before = await chain.tip()
      expect(before.synced).toBe(true)
      expect(before.hash).toMatch(/^[0-9a-f]{64}$/)
      await mine(1)
      const after = await chain.tip()
      expect(after).toMatchObject({ height: before.height + 1, previousHash: before.hash })
      expect(after.time % 1000).toBe(0)
      expect(Math.abs(after.time - now())).toBeLessThan(3 * HOUR_MS)
    })

    it('are reported as tips, the present tip first and always the newest, until the signal aborts', async () => {
      const { chain, mine } = fixture()
      const stop = new AbortController()
      const seen: ChainTip[] = []
      const listening = (async () => {
        for await (const tip of chain.tips(stop.signal)) seen.push(tip)
      })()
      const { height } = await chain.tip()
      await waitForValue('the present tip', async () => seen[0]?.height === height)
      await mine(3)
      await waitForValue('the newest tip', async () => seen.at(-1)?.height === height + 3)
      stop.abort()
      await listening
    })

    it('allow an estimate of the fee rate', async () => {
      for (const blocks of [1, 6, 144]) expect(await fixture().chain.feeRate(blocks)).toBeGreaterThanOrEqual(1)
    })
  })
}

function testOutputs({ fixture }: SuiteContext): void {
  describe('outputs', () => {
    it('are found in a visible mempool, then in their block', async () => {
      const { chain, mine, send } = fixture()
      const { height } = await chain.tip()
      const outpoint = await send()
      const unconfirmed = await chain.output(outpoint, height)
      const { valueSat = 0n, script = '' } = unconfirmed ?? {}
      expect(unconfirmed).toEqual(
        chain.sees.mempool ? { outpoint, valueSat, script, height: null, txIndex: null, spentBy: null } : undefined,
      )
      await mine(2)
      const found = await waitForValue('the output is found', () => chain.output(outpoint, height))
      expect(found).toMatchObject({ outpoint, height: height + 1, spentBy: null })
      expect(found.script).toMatch(/^([0-9a-f]{2})+$/)
      expect(found.valueSat).toBeGreaterThan(0n)
      expect(found.txIndex).toBeGreaterThan(0)
    })

    it('have the time at which they entered a visible mempool, and none for an unknown transaction', async () => {
      const { chain, mine, send } = fixture()
      const { height } = await chain.tip()
      const outpoint = await send()
      await chain.output(outpoint, height)
      const before = await chain.enteredMempoolAt(outpoint)
      expect(before !== null).toBe(chain.sees.mempool)
      await mine(1)
      const after = await chain.enteredMempoolAt(outpoint)
      expect(Math.abs((after ?? 0) - (before ?? 0)) < 60_000 || after === null).toBe(true)
      expect(await chain.enteredMempoolAt(`${'ab'.repeat(32)}:0`)).toBeNull()
    })

    it('show the transaction that spends them', async () => {
      const { chain, mine, send, spend } = fixture()
      const { height } = await chain.tip()
      const outpoint = await send()
      await mine(1)
      const txid = await spend(outpoint)
      expect((await chain.output(outpoint, height))?.spentBy).toEqual(chain.sees.mempool ? { txid, height: null } : null)
      await mine(1)
      await waitForValue('the block is seen', async () => (await chain.output(outpoint, height))?.spentBy?.height === height + 2)
      expect((await chain.output(outpoint, height))?.spentBy).toEqual({ txid, height: height + 2 })
    })

    it('are undefined for an unknown transaction or index', async () => {
      const { chain } = fixture()
      const { height } = await chain.tip()
      expect(await chain.output(`${'ab'.repeat(32)}:0`, height)).toBeUndefined()
      const outpoint = await fixture().send()
      expect(await chain.output(outpoint.replace(/:\d+$/, ':77'), height)).toBeUndefined()
    })
  })
}

function testReorganisations({ fixture }: SuiteContext): void {
  describe('re-orgs', () => {
    it('change the tip to the longer branch, and outputs are found in their new block', async () => {
      const { chain, mine, send, reorganise } = fixture()
      const before = await chain.tip()
      const outpoint = await send()
      await mine(2)
      const old = await chain.tip()
      const stop = new AbortController()
      const seen: string[] = []
      const listening = (async () => {
        for await (const { hash } of chain.tips(stop.signal)) seen.push(hash)
      })()
      await reorganise?.(2)
      const tip = await chain.tip()
      expect(tip.hash).not.toBe(old.hash)
      expect(tip.height).toBeGreaterThan(old.height)
      await waitForValue('the tip of the new branch', async () => seen.at(-1) === tip.hash)
      await mine(1)
      const found = await waitForValue('the output is in a block again', async () => {
        const output = await chain.output(outpoint, before.height)
        return typeof output?.height === 'number' && output
      })
      expect(found.height).toBeGreaterThan(before.height)
      stop.abort()
      await listening
    })
  })
}

function testReplacements({ fixture }: SuiteContext): void {
  describe('replaced transactions', () => {
    it('have no outputs any more', async () => {
      const { chain, mine, send, replace } = fixture()
      const { height } = await chain.tip()
      const outpoint = await send()
      await replace?.(outpoint.split(':')[0] ?? '')
      expect(await chain.output(outpoint, height)).toBeUndefined()
      await mine(1)
      expect(await chain.output(outpoint, height)).toBeUndefined()
    })
  })
}
