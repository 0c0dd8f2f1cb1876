import { NODE_BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { describe, expect, test } from 'vitest'
import { findMissingChaosCoverage } from './coverage.ts'
import { countOpeningsByBehaviour, type BehaviourEntry } from './behaviour-log.ts'

const ROUNDS = 8

describe('findMissingChaosCoverage reports missing coverage', () => {
  const openings = Object.fromEntries(NODE_BEHAVIOURS.map((how) => [how, 1]))
  const coverage = { openOrdersAtKills: [0, 3], failovers: 1, reorged: 1, openingsByBehaviour: openings }
  const statuses = { INVALID_CHANNEL_OPENING: 1, SELLER_FAILED_TO_SEND_SWAP: 1, SELLER_FAILED_TO_OPEN_CHANNEL: 1 }
  const run = (changes: object) =>
    findMissingChaosCoverage(Array.from({ length: ROUNDS }, () => ({ coverage, statuses, ...changes })))

  test('if a required event never occurred', () => {
    expect(run({})).toEqual([])
    for (const status of Object.keys(statuses)) expect(run({ statuses: { ...statuses, [status]: 0 } })).toHaveLength(1)
    for (const none of [{ failovers: 0 }, { reorged: 0 }]) expect(run({ coverage: { ...coverage, ...none } })).toHaveLength(1)
    for (const how of NODE_BEHAVIOURS)
      expect(run({ coverage: { ...coverage, openingsByBehaviour: { ...openings, [how]: 0 } } })).toHaveLength(1)
    expect(run({ coverage: { ...coverage, failovers: 0, reorged: 0, openingsByBehaviour: {} }, statuses: {} })).toHaveLength(
      5 + NODE_BEHAVIOURS.length,
    )
  })

  test('if a round had no kill while an order was open', () => {
    const missed = { coverage: { ...coverage, openOrdersAtKills: [0, 0] }, statuses }
    expect(findMissingChaosCoverage([{ coverage, statuses }, missed])).toEqual([
      'In round 2 there was no kill while an order was open.',
    ])
    expect(run({ coverage: missed.coverage })).toHaveLength(ROUNDS)
  })
})

describe('countOpeningsByBehaviour', () => {
  const behaves = (behaviour: BehaviourEntry['behaviour'], requestedAt: number, doneAt: number): BehaviourEntry => ({
    alias: 'seller-1',
    behaviour,
    requestedAt,
    doneAt,
    requestedHeight: 1,
    doneHeight: 1,
  })
  const fact = (type: string, at: number, data: object) => ({ category: 'order', aggregateId: 'a', at, fact: { type, data } })
  const openings = (at: number, entries: readonly BehaviourEntry[]) =>
    countOpeningsByBehaviour(
      // The facts have only the fields that the function reads.
      [
        fact('AttemptStarted', 0, { attempt: 1, candidate: { sellerPubkey: 'key' } }),
        fact('ChannelOpenRequested', at, { attempt: 1 }),
      ] as unknown as Parameters<typeof countOpeningsByBehaviour>[0],
      entries,
      (pubkey) => (pubkey === 'key' ? 'seller-1' : undefined),
    )

  test("counts a request only if the seller's behaviour is certain until the seller's next poll", () => {
    const entries = [behaves('vanish', 1000, 1200), behaves('ok', 9000, 9100)]
    expect(openings(3000, entries)).toEqual({ vanish: 1 })
    expect(openings(9500, entries)).toEqual({ ok: 1 })
    for (const at of [900, 1100, 8500, 9050]) expect(openings(at, entries)).toEqual({})
  })
})
