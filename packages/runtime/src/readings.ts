import type { RunningConsumer } from './consume.ts'
import { type Look, lookedUp, type Reading } from './gauges.ts'
import { lagBehind } from './lag.ts'
import type { Platform } from './platform.ts'
import { consumerOf } from './relay.ts'
import type { Unfinished } from './unfinished.ts'

const labelNames = ['component']
const counted = 'counted up to 500'

const relayLag = lookedUp(
  'penstock_relay_lag_seconds',
  'Age of the oldest fact of a service that its relay has not published; 0 where none waits.',
  labelNames,
)
const relayBehind = lookedUp(
  'penstock_relay_behind_facts',
  `Facts of a service that its relay has not published, ${counted}.`,
  labelNames,
)
const consumerLag = lookedUp(
  'penstock_consumer_lag_seconds',
  'Age of the oldest fact that a consumer has not dealt with; 0 where none waits.',
  ['consumer', 'owner'],
)
const consumerBehind = lookedUp('penstock_consumer_behind_facts', `Facts that a consumer has not dealt with, ${counted}.`, [
  'consumer',
  'owner',
])
const parkedKeys = lookedUp('penstock_parked_keys', 'Keys whose messages wait for a fix, by consumer group and topic.', [
  'group',
  'topic',
])
const timersOverdue = lookedUp(
  'penstock_timers_overdue',
  'Deadlines that have passed and were not carried out, counted up to 200.',
  labelNames,
)
const timersOldest = lookedUp(
  'penstock_timers_overdue_oldest_seconds',
  'How long the oldest deadline by the clock is overdue; 0 where none is.',
  labelNames,
)
const unfinishedStreams = lookedUp('penstock_unfinished_streams', 'Streams that still ask for something.', labelNames)

const TIMERS_COUNTED = 200

export type Observed = {
  readonly service: string
  readonly categories: readonly string[]
  readonly unfinished: Unfinished
  readonly platform: Platform
  readonly consumers: readonly RunningConsumer[]
  readonly height: () => number | undefined
}

/** What is to be seen of a service from outside: how far it is behind, and what waits. Replicas show the same. */
export const readingsOf = (observed: Observed): Look => {
  const owns = observed.categories.length > 0
  const looks = [consumersNow, parkedNow, ...(owns ? [relayNow, timersNow, unfinishedNow] : [])]
  return async () => (await Promise.all(looks.map((look) => look(observed)))).flat()
}

async function relayNow({ service, categories, platform }: Observed): Promise<readonly Reading[]> {
  const lag = await lagBehind({ ...platform, basics: platform }, consumerOf(service), categories)
  return [
    { gauge: relayLag, labels: { component: service }, value: lag.seconds },
    { gauge: relayBehind, labels: { component: service }, value: lag.facts },
  ]
}

async function consumersNow({ consumers }: Observed): Promise<readonly Reading[]> {
  const each = consumers.map(async ({ name: consumer, owner, behind }) => {
    const lag = await behind()
    const labels = { consumer, owner }
    return [
      { gauge: consumerLag, labels, value: lag.seconds },
      { gauge: consumerBehind, labels, value: lag.facts },
    ]
  })
  return (await Promise.all(each)).flat()
}

/** The groups of this service alone: all processes see the same table. */
async function parkedNow({ service, platform }: Observed): Promise<readonly Reading[]> {
  const counts = new Map<string, Reading>()
  for (const { group, topic } of await platform.bus.parked()) {
    if (group !== service && !group.startsWith(`${service}.`)) continue
    const key = `${group}\n${topic}`
    counts.set(key, { gauge: parkedKeys, labels: { group, topic }, value: (counts.get(key)?.value ?? 0) + 1 })
  }
  // A figure that is always there shows that nothing is parked, and not that nobody looks.
  if (counts.size === 0) return [{ gauge: parkedKeys, labels: { group: service, topic: '' }, value: 0 }]
  return [...counts.values()]
}

async function timersNow({ service, platform, height }: Observed): Promise<readonly Reading[]> {
  const now = platform.clock.now()
  const due = await platform.timers.due(service, now, height(), TIMERS_COUNTED)
  const oldest = Math.min(now, ...due.flatMap((timer) => ('at' in timer.due ? timer.due.at : [])))
  return [
    { gauge: timersOverdue, labels: { component: service }, value: due.length },
    { gauge: timersOldest, labels: { component: service }, value: (now - oldest) / 1000 },
  ]
}

async function unfinishedNow({ service, unfinished }: Observed): Promise<readonly Reading[]> {
  return [{ gauge: unfinishedStreams, labels: { component: service }, value: await unfinished.count() }]
}
