import { BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { describe, expect, test } from 'vitest'
import { lacking } from './struck.ts'
import { openingsAsked, type Told } from './told.ts'

const ROUNDS = 8

describe('a run proves nothing', () => {
  const asked = Object.fromEntries(BEHAVIOURS.map((how) => [how, 1]))
  const struck = { killed: [0, 3], failovers: 1, reorged: 1, asked }
  const statuses = { INVALID_CHANNEL_OPENING: 1, SELLER_FAILED_TO_SEND_SWAP: 1, SELLER_FAILED_TO_OPEN_CHANNEL: 1 }
  const run = (one: object) => lacking(Array.from({ length: ROUNDS }, () => ({ struck, statuses, ...one })))

  test('where one kind of fault never struck', () => {
    expect(run({})).toEqual([])
    for (const status of Object.keys(statuses)) expect(run({ statuses: { ...statuses, [status]: 0 } })).toHaveLength(1)
    for (const none of [{ failovers: 0 }, { reorged: 0 }]) expect(run({ struck: { ...struck, ...none } })).toHaveLength(1)
    for (const how of BEHAVIOURS) expect(run({ struck: { ...struck, asked: { ...asked, [how]: 0 } } })).toHaveLength(1)
    expect(run({ struck: { ...struck, failovers: 0, reorged: 0, asked: {} }, statuses: {} })).toHaveLength(5 + BEHAVIOURS.length)
  })

  test('where a round had no kill that hit anything', () => {
    const missed = { struck: { ...struck, killed: [0, 0] }, statuses }
    expect(lacking([{ struck, statuses }, missed])).toEqual(['In round 2 there was no kill while an order was open.'])
    expect(run({ struck: missed.struck })).toHaveLength(ROUNDS)
  })
})

describe('how a seller behaved when it was asked', () => {
  const told = (how: Told['how'], askedAt: number, doneAt: number): Told => ({
    alias: 'seller-1',
    how,
    askedAt,
    doneAt,
    askedHeight: 1,
    doneHeight: 1,
  })
  const fact = (type: string, at: number, data: object) => ({ category: 'order', aggregateId: 'a', at, fact: { type, data } })
  const asked = (at: number, all: readonly Told[]) =>
    openingsAsked(
      // Only what is looked at.
      [
        fact('AttemptStarted', 0, { attempt: 1, candidate: { sellerPubkey: 'key' } }),
        fact('OpeningAsked', at, { attempt: 1 }),
      ] as unknown as Parameters<typeof openingsAsked>[0],
      all,
      (pubkey) => (pubkey === 'key' ? 'seller-1' : undefined),
    )

  test('counts only where it is sure, and stayed so until the seller had looked', () => {
    const all = [told('vanish', 1000, 1200), told('ok', 9000, 9100)]
    expect(asked(3000, all)).toEqual({ vanish: 1 })
    expect(asked(9500, all)).toEqual({ ok: 1 })
    for (const at of [900, 1100, 8500, 9050]) expect(asked(at, all)).toEqual({})
  })
})
