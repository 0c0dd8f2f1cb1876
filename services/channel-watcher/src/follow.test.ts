import { fold } from '@penstock/kernel/decider.ts'
import type { ChainTip } from '@penstock/ports/chain.ts'
import type { Leases } from '@penstock/ports/leases.ts'
import { underLease } from '@penstock/runtime/lease.ts'
import { openLog } from '@penstock/runtime/log.ts'
import type { Ask } from '@penstock/runtime/service.ts'
import { confirmed, fact, leased, opened, other, output, outpoint, seen, started, two } from '@penstock/testkit/channel-story.ts'
import { until } from '@penstock/testkit/until.ts'
import { expect, test } from 'vitest'
import { channelDecider } from './channel.decide.ts'
import { followChain } from './effects-follow.ts'

const tip = (height: number): ChainTip => ({ height, hash: `h${height}`, previousHash: '', time: 0, synced: true })
type Alone = Parameters<typeof followChain.run>[0]['alone']
const never = <T>(): Promise<T> => new Promise(() => undefined)

const always: Alone = (_, work, signal) => work(signal)

/** Two channels, of which `probed` waits for a probe that its buyer keeps; blocks come when told. */
function watcher({ slowOutput = false, alone = always, slowLeases = 0 } = {}) {
  const stop = new AbortController()
  const otherStarted = fact('WatchStarted', { ...started.data, outpoint: other } as never)
  const states = {
    probed: fold(channelDecider, opened),
    other: fold(channelDecider, [
      otherStarted,
      ...[seen, confirmed, two].map(({ type, data }) => fact(type, { ...data, outpoint: other })),
    ]),
  }
  // At rest, and of an output that is far back in the chain.
  const six = fact('ConfirmationsSeen', { outpoint, confirmations: 6, tipHeight: 106 })
  const resting = fold(channelDecider, [...opened, leased, six])
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
      // Time passes when told: until then time-outs stay far away.
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
          return slowOutput && of === outpoint ? never() : Promise.resolve({ ...output(101), outpoint: of, valueSat: 1_000_000n })
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
            return never()
          },
        },
      },
    },
    unfinished: () => Promise.resolve([...leases, ...Object.keys(states)]),
    alone,
    load: (_: string, id: string) => Promise.resolve({ state: states[id as keyof typeof states] ?? resting, revision }),
    decide: ({ id, command }: Ask) => {
      looks.push(id)
      heights.push((command.data as { evidence: { tipHeight: number } }).evidence.tipHeight)
      return Promise.resolve({ outcome: 'accepted', revision: 1 })
    },
  }
  // Only what the loop calls is there.
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
    /** What is looked at is shown as of so many blocks before the tip. */
    lags: (blocks: number) => (lag = blocks),
    heights,
    /** Between this look and its word another replica looks at the next block and speaks first. */
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
      await until('the other channel is looked at', () => count('other') > before)
    },
    async close() {
      stop.abort()
      await running
    },
  }
}

test('a probe that is kept holds up neither the next block nor another channel, and is not sent again', async () => {
  const world = watcher()
  await until('the probe is sent', () => world.probes() === 1)
  for (let blocks = 0; blocks < 5; blocks++) await world.block()
  expect(world.count('probed')).toBeGreaterThanOrEqual(5)
  expect(world.probes()).toBe(1)
  await world.close()
})

test('a look that gets no answer holds up nobody else', async () => {
  const world = watcher({ slowOutput: true })
  for (let blocks = 0; blocks < 5; blocks++) await world.block()
  expect(world.count('probed')).toBe(0)
  await world.close()
})

test('leases that are read for long hold up no sale, however many there are', async () => {
  const world = watcher({ slowOutput: true, slowLeases: 100 })
  for (let blocks = 0; blocks < 5; blocks++) await world.block()
  await world.close()
})

/** Long enough for whatever needs no time to be done. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('leases at rest wait for sales and their probes, and are not starved by one that is kept', async () => {
  const world = watcher({ slowLeases: 20 })
  await until('the probe is sent', () => world.probes() === 1)
  // Twice the one that is probed, once the other.
  await until('the sales are looked at', () => world.asked() === 3)
  world.passes(4000)
  await world.block()
  await until('the sales are looked at', () => world.asked() === 5)
  await turns()
  expect(world.asked()).toBe(5)
  world.passes(1000)
  await until('all leases are looked at', () => world.asked() === 25)
  expect(world.probes()).toBe(1)
  await world.close()
})

test('a look at a lease that shows nothing new gives no command', async () => {
  const world = watcher({ slowLeases: 1 })
  for (let blocks = 0; blocks < 4; blocks++) await world.block()
  await turns()
  const before = world.asked()
  world.passes(5000)
  await until('the lease is looked at', () => world.asked() > before)
  await turns()
  expect(world.count('lease-0')).toBe(0)
  await world.close()
})

test('what another replica has said since is not taken back by an older look', async () => {
  const world = watcher()
  world.overtaken()
  await until('both are looked at', () => world.count('probed') > 0 && world.count('other') > 0)
  expect(new Set(world.heights)).toEqual(new Set([104]))
  await world.close()
})

test('what is shown as of an older block than the newest says nothing', async () => {
  const world = watcher()
  world.lags(1)
  await until('both are looked at', () => world.asked() >= 2)
  world.lags(0)
  await world.block()
  await until('both are looked at', () => world.count('probed') > 0)
  expect(new Set(world.heights)).toEqual(new Set([104]))
  await world.close()
})

/** A second passes whenever somebody sleeps. */
function replicas() {
  let now = 0
  const clock = {
    now: () => now,
    monotonicMs: () => now,
    sleep: (ms: number) => new Promise<void>((resolve) => setImmediate(() => resolve(void (now += ms)))),
  }
  let holder: { readonly owner: string; readonly until: number } | undefined
  const leases: Leases = {
    hold: async (_, owner, ttlMs) => {
      if (holder && holder.owner !== owner && holder.until > now) return false
      holder = { owner, until: now + ttlMs }
      return true
    },
    release: async (_, owner) => void (holder?.owner === owner && (holder = undefined)),
  }
  const log = openLog('silent')
  return (instance: string): Alone =>
    (name, work, signal) =>
      underLease({ leases, instance, clock, log }, name, work, signal)
}

test('one replica looks and probes; another goes on when it has ended', async () => {
  const alone = replicas()
  const first = watcher({ alone: alone('first') })
  await until('the first looks', () => first.count('other') > 0)
  const second = watcher({ alone: alone('second') })
  for (let blocks = 0; blocks < 3; blocks++) await first.block()
  expect(first.count('probed')).toBeGreaterThan(0)
  expect([second.count('probed'), second.count('other'), second.probes()]).toEqual([0, 0, 0])
  await first.close()
  await until('the second looks', () => second.count('other') > 0 && second.probes() > 0)
  await second.close()
})
