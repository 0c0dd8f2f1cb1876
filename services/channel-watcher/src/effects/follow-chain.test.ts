import { systemChance } from '@penstock/adapters/system/chance.ts'
import { fold } from '@penstock/kernel/decider.ts'
import type { ChainTip } from '@penstock/ports/chain.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import { runUnderLease } from '@penstock/runtime/processes/lease.ts'
import { openLogger } from '@penstock/runtime/observability/log.ts'
import type { AddressedCommand } from '@penstock/kernel/process.ts'
import {
  fundingConfirmed,
  channelFact,
  leaseStarted,
  openedChannelFacts,
  otherOutpoint,
  createOutput,
  channelOutpoint,
  fundingSeen,
  watchStarted,
  twoConfirmations,
} from '@penstock/testkit/channel-facts.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { channelDecider } from '../channel.decide.ts'
import { followChain } from './follow-chain.ts'

const tip = (height: number): ChainTip => ({ height, hash: `h${height}`, previousHash: '', time: 0, synced: true })
type Alone = Parameters<typeof followChain.run>[0]['withLease']
const neverResolve = <T>(): Promise<T> => new Promise(() => undefined)

const runAlways: Alone = (_, work, signal) => work(signal)

/** Two channels. The buyer's node never answers the probe of `probed`. The test makes the blocks. */
function openFixture({ slowOutput = false, alone = runAlways, slowLeases = 0 } = {}) {
  const stop = new AbortController()
  const otherStarted = channelFact('WatchStarted', { ...watchStarted.data, outpoint: otherOutpoint } as never)
  const states = {
    probed: fold(channelDecider, openedChannelFacts),
    other: fold(channelDecider, [
      otherStarted,
      ...[fundingSeen, fundingConfirmed, twoConfirmations].map(({ type, data }) =>
        channelFact(type, { ...data, outpoint: otherOutpoint }),
      ),
    ]),
  }
  // An idle lease, whose output lies far back in the chain.
  const six = channelFact('ConfirmationsSeen', { outpoint: channelOutpoint, confirmations: 6, tipHeight: 106 })
  const idleLease = fold(channelDecider, [...openedChannelFacts, leaseStarted, six])
  const leases = Array.from({ length: slowLeases }, (_, index) => `lease-${index}`)
  const looks: string[] = []
  const heights: number[] = []
  let revision = 1
  let answered = (): void => undefined
  let probes = 0
  let asked = 0
  let lag = 0
  let height = 103
  let wake = (): void => undefined
  let now = 0
  const sleepers = new Set<{ readonly until: number; readonly end: () => void }>()
  const context = {
    ports: {
      // Only the test advances the clock, so no timeout fires by itself.
      ids: systemChance,
      clock: {
        now: () => now,
        monotonicMs: () => now,
        sleep: (ms: number, signal?: AbortSignal) =>
          new Promise<void>((resolve) => {
            sleepers.add({ until: now + ms, end: resolve })
            signal?.addEventListener('abort', () => resolve())
          }),
      },
      log: { warn: () => undefined, error: () => undefined },
      chain: {
        sees: { mempool: true },
        tip: () => Promise.resolve(tip(height - lag)),
        output: (of: string) => {
          asked++
          answered()
          return slowOutput && of === channelOutpoint
            ? neverResolve()
            : Promise.resolve({ ...createOutput(101), outpoint: of, valueSat: 1_000_000n })
        },
        async *tips() {
          while (!stop.signal.aborted) {
            yield tip(height)
            await new Promise<void>((resolve) => {
              wake = resolve
              stop.signal.addEventListener('abort', () => resolve())
            })
          }
        },
      },
      lightning: {
        graph: {
          channel: () => Promise.resolve(undefined),
          between: () => Promise.resolve([]),
          probe: () => {
            probes++
            return neverResolve()
          },
        },
      },
    },
    listOpenStreams: () => Promise.resolve([...leases, ...Object.keys(states)]),
    withLease: alone,
    load: (_: string, id: string) => Promise.resolve({ state: states[id as keyof typeof states] ?? idleLease, revision }),
    decide: ({ id, command }: AddressedCommand) => {
      looks.push(id)
      heights.push((command.data as { evidence: { tipHeight: number } }).evidence.tipHeight)
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
  }
  // The context has only the members that the loop calls.
  const running = followChain.run(context as unknown as Parameters<typeof followChain.run>[0], stop.signal)
  const count = (id: string): number => looks.filter((looked) => looked === id).length
  return {
    count,
    probes: () => probes,
    asked: () => asked,
    passes(ms: number) {
      now += ms
      for (const { until, end } of sleepers) if (until <= now) end()
    },
    /** Makes the chain answer with evidence from `blocks` blocks before the newest tip. */
    lags: (blocks: number) => (lag = blocks),
    heights,
    /** During the next observation, another replica observes the following block and records its fact first. */
    overtaken() {
      answered = () => {
        answered = () => undefined
        height++
        revision++
      }
    },
    async block() {
      height++
      const before = count('other')
      wake()
      await waitUntil('the other channel is observed', () => count('other') > before)
    },
    async close() {
      stop.abort()
      await running
    },
  }
}

test('a held probe delays neither the next block nor another channel, and is not sent again', async () => {
  const fixture = openFixture()
  await waitUntil('the probe is sent', () => fixture.probes() === 1)
  for (let blocks = 0; blocks < 5; blocks++) await fixture.block()
  expect(fixture.count('probed')).toBeGreaterThanOrEqual(5)
  expect(fixture.probes()).toBe(1)
  await fixture.close()
})

test('an observation without an answer delays no other channel', async () => {
  const fixture = openFixture({ slowOutput: true })
  for (let blocks = 0; blocks < 5; blocks++) await fixture.block()
  expect(fixture.count('probed')).toBe(0)
  await fixture.close()
})

test('slow observations of many leases do not delay channels before their lease', async () => {
  const fixture = openFixture({ slowOutput: true, slowLeases: 100 })
  for (let blocks = 0; blocks < 5; blocks++) await fixture.block()
  await fixture.close()
})

/** Waits until all work that needs no timer is done. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('idle leases wait for channels before their lease, and a held probe does not starve them', async () => {
  const fixture = openFixture({ slowLeases: 20 })
  await waitUntil('the probe is sent', () => fixture.probes() === 1)
  // The probed channel is observed twice, and the other channel once.
  await waitUntil('the sales are observed', () => fixture.asked() === 3)
  fixture.passes(4000)
  await fixture.block()
  await waitUntil('the sales are observed', () => fixture.asked() === 5)
  await settle()
  expect(fixture.asked()).toBe(5)
  fixture.passes(1000)
  await waitUntil('all leases are observed', () => fixture.asked() === 25)
  expect(fixture.probes()).toBe(1)
  await fixture.close()
})

test('an observation of a lease without a change sends no command', async () => {
  const fixture = openFixture({ slowLeases: 1 })
  for (let blocks = 0; blocks < 4; blocks++) await fixture.block()
  await settle()
  const before = fixture.asked()
  fixture.passes(5000)
  await waitUntil('the lease is observed', () => fixture.asked() > before)
  await settle()
  expect(fixture.count('lease-0')).toBe(0)
  await fixture.close()
})

test("an observation is repeated if another replica was faster, and does not revert that replica's fact", async () => {
  const fixture = openFixture()
  fixture.overtaken()
  await waitUntil('both are observed', () => fixture.count('probed') > 0 && fixture.count('other') > 0)
  expect(new Set(fixture.heights)).toEqual(new Set([104]))
  await fixture.close()
})

test('an observation of an older block than the newest tip sends no command', async () => {
  const fixture = openFixture()
  fixture.lags(1)
  await waitUntil('both are observed', () => fixture.asked() >= 2)
  fixture.lags(0)
  await fixture.block()
  await waitUntil('both are observed', () => fixture.count('probed') > 0)
  expect(new Set(fixture.heights)).toEqual(new Set([104]))
  await fixture.close()
})

/** Makes replicas with one lease store. Each sleep advances their common clock by its length. */
function replicas() {
  let now = 0
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    sleep: (ms: number) => new Promise<void>((resolve) => setImmediate(() => resolve(void (now += ms)))),
  }
  let holder: { readonly owner: string; readonly until: number } | undefined
  const leases: Leases = {
    acquire: async (_, owner, ttlMs) => {
      if (holder && holder.owner !== owner && holder.until > now) return false
      holder = { owner, until: now + ttlMs }
      return true
    },
    release: async (_, owner) => void (holder?.owner === owner && (holder = undefined)),
  }
  const log = openLogger('silent')
  return (instance: string): Alone =>
    (name, work, signal) =>
      runUnderLease({ leases, instance, clock, log }, name, work, signal)
}

test('one replica observes and probes, and another replica continues when the first has ended', async () => {
  const alone = replicas()
  const first = openFixture({ alone: alone('first') })
  await waitUntil('the first observes', () => first.count('other') > 0)
  const second = openFixture({ alone: alone('second') })
  for (let blocks = 0; blocks < 3; blocks++) await first.block()
  expect(first.count('probed')).toBeGreaterThan(0)
  expect([second.count('probed'), second.count('other'), second.probes()]).toEqual([0, 0, 0])
  await first.close()
  await waitUntil('the second observes', () => second.count('other') > 0 && second.probes() > 0)
  await second.close()
})
