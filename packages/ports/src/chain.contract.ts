import { HOUR_MS } from '@penstock/kernel/time.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chain, ChainTip } from './chain.ts'
import { until } from './waiting.contract.ts'

export type ChainWorld = {
  readonly chain: Chain
  /** Returns when the source has seen the blocks. */
  readonly mine: (count: number) => Promise<void>
  /** Puts a transaction into the mempool and names an output of it. */
  readonly send: () => Promise<string>
  /** Puts a transaction into the mempool that spends this output. @returns its id */
  readonly spend: (outpoint: string) => Promise<string>
  /** Replaces the last blocks by a longer branch; their transactions may be in the mempool again or in the new branch. */
  readonly reorganise?: (depth: number) => Promise<void>
  /** Replaces an unconfirmed transaction by another that spends the same coins. */
  readonly replace?: (txid: string) => Promise<void>
  readonly teardown: () => Promise<void>
}

/** What every source of blocks does behind the port. A world without `reorganise` or `replace` leaves those cases out. */
export function chainContract(
  name: string,
  open: () => Promise<ChainWorld>,
  features: { readonly reorgs: boolean; readonly replacements: boolean },
): void {
  describe(`chain: ${name}`, () => {
    let world: ChainWorld
    beforeAll(async () => {
      world = await open()
    }, 120_000)
    afterAll(() => world.teardown())
    const here = { world: () => world }
    following(here)
    looking(here)
    if (features.reorgs) reorganising(here)
    if (features.replacements) replacing(here)
  })
}

type Here = { readonly world: () => ChainWorld }

function following({ world }: Here): void {
  describe('blocks', () => {
    it('has a tip that grows, each block on the one before', async () => {
      const { chain, mine } = world()
      const before = await chain.tip()
      expect(before.synced).toBe(true)
      expect(before.hash).toMatch(/^[0-9a-f]{64}$/)
      await mine(1)
      const after = await chain.tip()
      expect(after).toMatchObject({ height: before.height + 1, previousHash: before.hash })
      expect(after.time % 1000).toBe(0)
      expect(Math.abs(after.time - Date.now())).toBeLessThan(3 * HOUR_MS)
    })

    it('tells of tips, the present one first, never skips the newest, and ends with the signal', async () => {
      const { chain, mine } = world()
      const stop = new AbortController()
      const seen: ChainTip[] = []
      const listening = (async () => {
        for await (const tip of chain.tips(stop.signal)) seen.push(tip)
      })()
      const { height } = await chain.tip()
      await until('the present tip', async () => seen[0]?.height === height)
      await mine(3)
      await until('the newest tip', async () => seen.at(-1)?.height === height + 3)
      stop.abort()
      await listening
    })

    it('estimates fees', async () => {
      for (const blocks of [1, 6, 144]) expect(await world().chain.feeRate(blocks)).toBeGreaterThanOrEqual(1)
    })
  })
}

function looking({ world }: Here): void {
  describe('outputs', () => {
    it('finds an output as far as it can see, then in its block', async () => {
      const { chain, mine, send } = world()
      const { height } = await chain.tip()
      const outpoint = await send()
      const unconfirmed = await chain.output(outpoint, height)
      const { valueSat = 0n, script = '' } = unconfirmed ?? {}
      expect(unconfirmed).toEqual(
        chain.sees.mempool ? { outpoint, valueSat, script, height: null, txIndex: null, spentBy: null } : undefined,
      )
      await mine(2)
      const found = await until('it is found', () => chain.output(outpoint, height))
      expect(found).toMatchObject({ outpoint, height: height + 1, spentBy: null })
      expect(found.script).toMatch(/^([0-9a-f]{2})+$/)
      expect(found.valueSat).toBeGreaterThan(0n)
      expect(found.txIndex).toBeGreaterThan(0)
    })

    it('tells when a transaction came into its mempool, and nothing of one that nobody sent', async () => {
      const { chain, mine, send } = world()
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

    it('sees that an output is spent', async () => {
      const { chain, mine, send, spend } = world()
      const { height } = await chain.tip()
      const outpoint = await send()
      await mine(1)
      const txid = await spend(outpoint)
      expect((await chain.output(outpoint, height))?.spentBy).toEqual(chain.sees.mempool ? { txid, height: null } : null)
      await mine(1)
      await until('it is spent', async () => (await chain.output(outpoint, height))?.spentBy?.height === height + 2)
      expect((await chain.output(outpoint, height))?.spentBy).toEqual({ txid, height: height + 2 })
    })

    it('finds nothing where nothing is', async () => {
      const { chain } = world()
      const { height } = await chain.tip()
      expect(await chain.output(`${'ab'.repeat(32)}:0`, height)).toBeUndefined()
      const outpoint = await world().send()
      expect(await chain.output(outpoint.replace(/:\d+$/, ':77'), height)).toBeUndefined()
    })
  })
}

function reorganising({ world }: Here): void {
  describe('re-orgs', () => {
    it('follows the longer branch, and finds the outputs where they are now', async () => {
      const { chain, mine, send, reorganise } = world()
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
      await until('the tip of the new branch', async () => seen.at(-1) === tip.hash)
      await mine(1)
      const found = await until('it is in a block again', async () => {
        const output = await chain.output(outpoint, before.height)
        return typeof output?.height === 'number' && output
      })
      expect(found.height).toBeGreaterThan(before.height)
      stop.abort()
      await listening
    })
  })
}

function replacing({ world }: Here): void {
  describe('replaced transactions', () => {
    it('no longer finds what lost against another transaction', async () => {
      const { chain, mine, send, replace } = world()
      const { height } = await chain.tip()
      const outpoint = await send()
      await replace?.(outpoint.split(':')[0] ?? '')
      expect(await chain.output(outpoint, height)).toBeUndefined()
      await mine(1)
      expect(await chain.output(outpoint, height)).toBeUndefined()
    })
  })
}
