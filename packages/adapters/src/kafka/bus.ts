import { Fault } from '@penstock/kernel/result.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Views } from '@penstock/ports/views.ts'
import { within } from '@penstock/ports/within.ts'
import { type BusOptions, subscriptions } from '../shared/subscriptions.ts'
import { systemClock } from '../system/clock.ts'
import { briefRetry, type ClientOptions, kafkaClient } from './client.ts'
import { type Group, group } from './group.ts'
import { parkedKeys, type ParkedKeys } from './parked-tables.ts'
import { publisher } from './publisher.ts'
import { topicKeeper, type TopicSettings } from './topics.ts'
import { rounds } from './rounds.ts'
import { wantedGroups } from './wanted.ts'

export type KafkaBusOptions = BusOptions &
  ClientOptions &
  TopicSettings & {
    /** Stands before the names of topics and groups, so that several markets can share brokers. */
    readonly prefix: string
    readonly sessionTimeoutMs: number
    /** A publish that is not confirmed after so long is a fault. */
    readonly publishTimeoutMs?: number
    /** How often the brokers are asked about topics; a publish that meets a deleted topic has to outlive it. */
    readonly reviewEveryMs?: number
  }

const PUBLISH_TIMEOUT_MS = 30_000
const REVIEW_EVERY_MS = 5000
const LOOK_FOR_PARKED_MS = 1000
const CLOSE_MS = 5000

/**
 * The bus on Kafka: a consumer group for each group and topic. Offsets in Kafka only save reading again; what was handled
 * is known by the streams and the views. Parked keys lie in tables of `views`, shared by all processes.
 */
export async function kafkaBus(views: Views, options: KafkaBusOptions): Promise<Bus> {
  const { clock = systemClock, prefix, sessionTimeoutMs, log } = options
  const { publishTimeoutMs = PUBLISH_TIMEOUT_MS, reviewEveryMs = REVIEW_EVERY_MS } = options
  const kafka = kafkaClient(options)
  const topics = topicKeeper(kafka, options, clock, log)
  const parked = await parkedKeys(views, () => clock.now())
  const publishing = publisher(kafka, topics, { source: `/${options.clientId}`, clock, timeoutMs: publishTimeoutMs, log })
  const groups = wantedGroups(clock)
  const closed = new AbortController()
  const running = subscriptions(async (name, topic, how) => {
    const place = { group: name, topic }
    const named = { place, groupId: `${prefix}${name}@${topic}`, topic: prefix + topic }
    const wanted = groups.want(named.groupId, named.topic)
    const { length: partitions } = await topics.ensure(named.topic)
    const over = (): void => groups.drop(named.groupId)
    wanted.joined = group(kafka, parked, { ...named, partitions, sessionTimeoutMs, clock, log, over }, how)
    return wanted.joined
  }, options)
  const lookForParked = (): Promise<void> => noteParked(groups.joined(), parked).catch(() => {})
  const watching = { everyMs: reviewEveryMs, clock, log, signal: closed.signal }
  const watched = rounds(kafkaClient(options, briefRetry), topics, groups.all, watching)
  void (async () => {
    while (!closed.signal.aborted) {
      await clock.sleep(LOOK_FOR_PARKED_MS, closed.signal)
      await lookForParked()
    }
  })()

  return {
    mayLose: true,
    publish: (topic, messages) => publishing.publish(prefix + topic, messages),
    async subscribe(subscription) {
      if (closed.signal.aborted) throw new Fault('the bus is closed')
      return running.subscribe(subscription)
    },
    parked: () => parked.list(),
    async replay(place) {
      const messages = await parked.startReplay(place)
      if (messages > 0) void lookForParked()
      return messages
    },
    async close() {
      closed.abort()
      await running.close()
      groups.close()
      // Without brokers a client may hang on: what it still wants is of no use to anybody.
      await Promise.allSettled([publishing.close(), topics.close(), watched].map((closing) => within(clock, CLOSE_MS, closing)))
    },
  }
}

/** What another process parked, freed or wants replayed is seen here. */
async function noteParked(groups: readonly Group[], parked: ParkedKeys): Promise<void> {
  const versions = groups.map((known) => [known, known.parkedVersion()] as const)
  if (versions.length === 0) return
  const waiting = await parked.waiting()
  for (const [known, version] of versions) known.noteParked(waiting, version)
}
