import type { RunningConsumer } from '../consumers/consume.ts'
import { type GaugeReader, createSampledGauge, type GaugeReading } from './gauges.ts'
import { readConsumerLag } from '../consumers/lag.ts'
import type { Platform } from '../platform.ts'
import { relayConsumerName } from '../consumers/relay.ts'
import type { OpenStreams } from '../processes/open-streams.ts'

const labelNames = ['component']
const COUNT_NOTE = 'counted up to 500'

const relayLag = createSampledGauge(
  'penstock_relay_lag_seconds',
  'Age of the oldest fact of a service that its relay has not published; 0 if none waits.',
  labelNames,
)
const relayBehind = createSampledGauge(
  'penstock_relay_behind_facts',
  `Facts of a service that its relay has not published, ${COUNT_NOTE}.`,
  labelNames,
)
const consumerLag = createSampledGauge(
  'penstock_consumer_lag_seconds',
  'Age of the oldest fact that a consumer has not handled; 0 if none waits.',
  ['consumer', 'owner'],
)
const consumerBehind = createSampledGauge(
  'penstock_consumer_behind_facts',
  `Facts that a consumer has not handled, ${COUNT_NOTE}.`,
  ['consumer', 'owner'],
)
const parkedKeys = createSampledGauge(
  'penstock_parked_keys',
  'Parked keys by consumer group and topic. Their messages wait for a fix.',
  ['group', 'topic'],
)
const timersOverdue = createSampledGauge(
  'penstock_timers_overdue',
  'Deadlines that have passed and are not handled yet, counted up to 200.',
  labelNames,
)
const timersOldest = createSampledGauge(
  'penstock_timers_overdue_oldest_seconds',
  'Time since the oldest overdue deadline of the wall clock; 0 if none is overdue.',
  labelNames,
)
const unfinishedStreams = createSampledGauge('penstock_unfinished_streams', 'Streams whose process has not ended.', labelNames)

const TIMERS_COUNTED = 200

export type ObservedService = {
  readonly service: string
  readonly categories: readonly string[]
  readonly openStreams: OpenStreams
  readonly platform: Platform
  readonly consumers: readonly RunningConsumer[]
  readonly height: () => number | undefined
}

/** Reads the lag and the amount of waiting work of a service. All replicas show the same values. */
export const createServiceReader = (observed: ObservedService): GaugeReader => {
  const owns = observed.categories.length > 0
  const readers = [readConsumers, readParkedKeys, ...(owns ? [readRelay, readTimers, readOpenStreams] : [])]
  return async () => (await Promise.all(readers.map((reader) => reader(observed)))).flat()
}

async function readRelay({ service, categories, platform }: ObservedService): Promise<readonly GaugeReading[]> {
  const lag = await readConsumerLag({ ...platform, basePorts: platform }, relayConsumerName(service), categories)
  return [
    { gauge: relayLag, labels: { component: service }, value: lag.seconds },
    { gauge: relayBehind, labels: { component: service }, value: lag.facts },
  ]
}

async function readConsumers({ consumers }: ObservedService): Promise<readonly GaugeReading[]> {
  const each = consumers.map(async ({ name: consumer, owner, readLag }) => {
    const lag = await readLag()
    const labels = { consumer, owner }
    return [
      { gauge: consumerLag, labels, value: lag.seconds },
      { gauge: consumerBehind, labels, value: lag.facts },
    ]
  })
  return (await Promise.all(each)).flat()
}

/** Reads only the groups of this service, because all processes see the same table. */
async function readParkedKeys({ service, platform }: ObservedService): Promise<readonly GaugeReading[]> {
  const counts = new Map<string, GaugeReading>()
  for (const { group, topic } of await platform.bus.parked()) {
    if (group !== service && !group.startsWith(`${service}.`)) continue
    const key = `${group}\n${topic}`
    counts.set(key, { gauge: parkedKeys, labels: { group, topic }, value: (counts.get(key)?.value ?? 0) + 1 })
  }
  // An explicit 0 distinguishes an empty table from a failed read.
  if (counts.size === 0) return [{ gauge: parkedKeys, labels: { group: service, topic: '' }, value: 0 }]
  return [...counts.values()]
}

async function readTimers({ service, platform, height }: ObservedService): Promise<readonly GaugeReading[]> {
  const now = platform.clock.now()
  const due = await platform.timers.due(service, now, height(), TIMERS_COUNTED)
  const oldest = Math.min(now, ...due.flatMap((timer) => ('at' in timer.due ? timer.due.at : [])))
  return [
    { gauge: timersOverdue, labels: { component: service }, value: due.length },
    { gauge: timersOldest, labels: { component: service }, value: (now - oldest) / 1000 },
  ]
}

async function readOpenStreams({ service, openStreams }: ObservedService): Promise<readonly GaugeReading[]> {
  return [{ gauge: unfinishedStreams, labels: { component: service }, value: await openStreams.count() }]
}
