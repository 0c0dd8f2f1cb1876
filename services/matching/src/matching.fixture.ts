import { command, type AddressedCommand } from '@penstock/kernel/process.ts'
import { uuidFor } from '@penstock/testkit/book-entries.ts'
import assert from 'node:assert/strict'
import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import { signMessage } from '@penstock/bitcoin/message-signature.ts'
import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import type { SellerTarget, OfferTarget } from '@penstock/contracts/matching.ts'
import type { Command, Fact } from '@penstock/kernel/message.ts'
import type { Limits } from '@penstock/ports/limits.ts'
import { readConfig } from '@penstock/config/config.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import type { Event, CommandOutcome } from '@penstock/runtime/service.ts'
import { matchingService } from './service.ts'

export const START = 1_800_000_000_000
export const secret = (n: number) => new Uint8Array(32).fill(n)

/** The service with immediate delivery of facts, counters in memory, and a clock that advances only during `sleep`. */
function openFixture() {
  const service = matchingService()
  const streams = new Map<string, Fact[]>()
  const all: Event[] = []
  const seen = new Map<string, number>()
  const touch: Limits['touch'] = async (key, now) => void seen.set(key, now)
  let now = START
  let commands = 0
  const scheduled: (readonly [number, () => Promise<unknown>])[] = []
  const ports = {
    graph: { between: () => Promise.resolve([]) },
    chain: { feeRate: async () => 1 },
    clock: {
      now: () => now,
      monotonicMs: () => now,
      sleep: async (ms: number) => {
        now += ms
        for (const [at, act] of scheduled.splice(0)) {
          if (at <= now) await act()
          else scheduled.push([at, act])
        }
      },
    },
    ids: { uuid: () => uuidFor(++commands), random: (bytes: number) => new Uint8Array(bytes) },
    limits: {
      touch,
      lastSeen: async (key: string) => seen.get(key),
      hit: async () => ({ allowed: true as const, remaining: 1 }),
      takeBack: async () => undefined,
    },
    config: readConfig({}),
    log: openLogger('silent'),
  }
  const stateOf = (category: string, id: string) => {
    const aggregate = service.aggregates.find(({ contract }) => contract.category === category)
    assert.ok(aggregate, category)
    const facts = streams.get(`${category}-${id}`) ?? []
    return { aggregate, facts, state: facts.reduce(aggregate.decider.evolve, aggregate.decider.initial) }
  }
  const publish = async (category: string, id: string, fact: Fact, revision: number): Promise<void> => {
    const event: Event = {
      id: uuidFor(++commands),
      category,
      aggregateId: id,
      revision,
      position: 0n,
      at: now,
      commandId: '',
      correlation: id,
      fact,
    }
    all.push(event)
    for (const view of service.memoryViews) if (view.from.some((contract) => contract.category === category)) view.apply(event)
    for (const { contract, type, react } of service.reactions)
      if (contract.category === category && type === fact.type) for (const addressed of react(event)) await decide(addressed)
  }
  /** @param at the time at which the command was sent */
  const decideLate = async ({ category, id, command: { type, data } }: AddressedCommand, at: number): Promise<CommandOutcome> => {
    const extra = await stateOf(category, id).aggregate.enrich?.[type]?.(data as never, { id, at, ports })
    const { aggregate, facts, state } = stateOf(category, id) // loaded last, so that no other command runs in between
    const command: Command = { type, id: uuidFor(++commands), at, data: { ...data, ...extra } }
    const decision = aggregate.decider.decide(state, command)
    if ('refused' in decision) return { outcome: 'refused', ...decision.refused }
    streams.set(`${category}-${id}`, [...facts, ...decision.facts])
    for (const [index, fact] of decision.facts.entries()) await publish(category, id, fact, facts.length + index)
    if (decision.facts.length > 0) await advance(category, id)
    return { outcome: 'accepted', revision: facts.length }
  }
  const decide = (addressed: AddressedCommand) => decideLate(addressed, now)
  const advance = async (category: string, id: string): Promise<void> => {
    const { aggregate, state } = stateOf(category, id)
    for (const next of aggregate.process?.(state, id) ?? []) if (next.kind === 'command') await decide({ ...next })
  }
  const attest = (n: number, confirmedSat = '50000000', at = ports.clock.now()) => {
    const pubkey = derivePubkey(secret(n))
    const signature = signMessage(secret(n), formatFundsAttestation({ pubkey, confirmedSats: BigInt(confirmedSat), at }))
    return decideLate(
      command<SellerTarget>('seller', pubkey, {
        type: 'Attest',
        data: { accountId: uuidFor(n), pubkey, confirmedSat, at, signature },
      }),
      at,
    )
  }
  const types = (category: string, id: string) => stateOf(category, id).facts.map(({ type }) => type)
  /** Runs the service's jobs for `ms` milliseconds of the test clock. */
  const runJobs = async (ms: number) => {
    const stop = new AbortController()
    const until = now + ms
    scheduled.push([until, async () => stop.abort()])
    const context = {
      ports,
      decide,
      load: async () => ({ state: undefined, revision: 'none' as const }),
      send: async () => {},
      listOpenStreams: async () => [],
      runProcess: async () => {},
      withLease: async (_: string, work: (held: AbortSignal) => Promise<void>, held: AbortSignal) => work(held),
    }
    await Promise.all(service.jobs.map(({ run }) => run(context, stop.signal)))
  }
  return {
    decide,
    decideLate,
    publish,
    attest,
    types,
    runJobs,
    schedule: (ms: number, act: () => Promise<unknown>) => scheduled.push([now + ms, act]),
    all,
    ports,
  }
}

/** The terms that each seller promises. `minBlockLength` is the channel lease in blocks. */
export const promises = {
  baseFeeSat: '0',
  feeRatePpm: 2000,
  baseFeeCapSat: '1',
  feeRateCapPpm: 1,
  minBlockLength: 5000,
  onchainPriority: 'LOW' as const,
  onchainMultiplier: 0,
}

/** Opens the service with one live seller for each size of an offer. */
export async function openMarketFixture(sizes: readonly string[], promised: Partial<typeof promises> = {}) {
  const fixture = openFixture()
  for (const [index, totalSizeSat] of sizes.entries()) {
    const n = index + 1
    const terms = {
      totalSizeSat,
      minSizeSat: '100000',
      maxSizeSat: totalSizeSat,
      promises: { ...promises, ...promised },
      conditions: [],
      assetId: null,
      autoAccept: true,
    }
    await fixture.decide(
      command<OfferTarget>('offer', uuidFor(n), {
        type: 'CreateOffer',
        data: { ...terms, accountId: uuidFor(n), pubkey: derivePubkey(secret(n)) },
      }),
    )
    await fixture.attest(n)
  }
  return fixture
}
