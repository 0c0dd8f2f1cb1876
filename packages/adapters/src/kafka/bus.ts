import { Fault } from '@penstock/kernel/result.ts'
import type { Bus, BusMessage } from '@penstock/ports/bus.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Views } from '@penstock/ports/views.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import { type BusOptions, createSubscriptions } from '../shared/subscriptions.ts'
import { systemChance } from '../system/chance.ts'
import { systemClock } from '../system/clock.ts'
import { briefRetry, type KafkaClientOptions, createKafkaClient } from './client.ts'
import { type GroupDispatcher, createGroupDispatcher } from './consumer/group-dispatcher.ts'
import { createGroupMembers } from './consumer/group-member.ts'
import { openSharedParkedKeys, type SharedParkedKeys } from './parked-tables.ts'
import { createPublisher } from './publisher.ts'
import { createTopicManager, type TopicSettings } from './topics.ts'
import { monitorTopics } from './topic-monitor.ts'
import { createExpectedGroups } from './expected-groups.ts'

export type KafkaBusOptions = BusOptions &
  KafkaClientOptions &
  TopicSettings & {
    /** Prefix of topic and group names, so that several markets can share brokers. */
    readonly prefix: string
    readonly sessionTimeoutMs: number
    /** Milliseconds after which an unconfirmed publish fails with a `Fault`. */
    readonly publishTimeoutMs?: number
    /**
     * Milliseconds between two checks of the topics. A check recreates a deleted topic, so the publish timeout has to be longer.
     */
    readonly topicPollMs?: number
    /** A consumer is replaced after so many ms without activity, or without progress in a partition that has messages. */
    readonly stallTimeoutMs?: number
    /**
     * Selects the low-priority messages, which get partitions of their own in each topic. All publishers need the same function.
     * Without it, topics have no such partitions.
     */
    readonly isLowPriority?: (message: BusMessage) => boolean
  }

const PUBLISH_TIMEOUT_MS = 30_000
const TOPIC_POLL_MS = 5000
const STALL_TIMEOUT_MS = 120_000
const PARKED_POLL_MS = 5000
const CLOSE_TIMEOUT_MS = 5000

/**
 * The bus on Kafka. Each group is a consumer group, whose members read all its topics with one client. Committed offsets only
 * avoid rereading: streams and views record which messages were handled. Parked keys are in tables of `views`, which all
 * processes share.
 */
export async function kafkaBus(views: Views, options: KafkaBusOptions): Promise<Bus> {
  const { clock = systemClock, chance = systemChance, prefix, sessionTimeoutMs, log } = options
  const { publishTimeoutMs = PUBLISH_TIMEOUT_MS, topicPollMs = TOPIC_POLL_MS, stallTimeoutMs = STALL_TIMEOUT_MS } = options
  const kafka = createKafkaClient(options)
  const topics = createTopicManager(kafka, options, clock, log)
  const parked = await openSharedParkedKeys(views, () => clock.now())
  const messagePublisher = createPublisher(kafka, topics, {
    source: `/${options.clientId}`,
    clock,
    chance,
    timeoutMs: publishTimeoutMs,
    log,
    isLowPriority: options.isLowPriority,
  })
  const groups = createExpectedGroups(clock)
  const memberOf = createGroupMembers(kafka, { sessionTimeoutMs, stallTimeoutMs, clock, log })
  const closed = new AbortController()
  const activeSubscriptions = createSubscriptions(async (name, topic, dispatcherOptions) => {
    const id = { group: name, topic }
    const [groupId, brokerTopic] = [prefix + name, prefix + topic]
    const expected = groups.add(groupId, brokerTopic)
    const { length: partitions } = await topics.ensure(brokerTopic)
    const topicOptions = { topic: brokerTopic, partitions, waiting: expected.lag.waiting }
    const onEnded = (): void => groups.drop(groupId, brokerTopic)
    expected.dispatcher = createGroupDispatcher(
      memberOf(groupId),
      parked,
      { subscriptionId: id, ...topicOptions, clock, log, onEnded },
      dispatcherOptions,
    )
    return expected.dispatcher
  }, options)
  const refreshParked = (): Promise<void> => refreshParkedKeys(groups.joined(), parked).catch(() => {})
  const monitorOptions = { everyMs: topicPollMs, clock, log, signal: closed.signal }
  const monitoring = monitorTopics(createKafkaClient(options, briefRetry), topics, groups.all, monitorOptions)
  void repeat(clock, PARKED_POLL_MS, refreshParked, closed.signal)

  return {
    mayLose: true,
    publish: (topic, messages) => messagePublisher.publish(prefix + topic, messages),
    async subscribe(subscription) {
      if (closed.signal.aborted) throw new Fault('the bus is closed')
      return activeSubscriptions.subscribe(subscription)
    },
    parked: () => parked.list(),
    async replay(id) {
      const messages = await parked.startReplay(id)
      if (messages > 0) void refreshParked()
      return messages
    },
    async close() {
      closed.abort()
      await activeSubscriptions.close()
      groups.close()
      // A client may hang while no broker answers. Its pending requests no longer matter, so the close does not wait for long.
      await Promise.allSettled(
        [messagePublisher.close(), topics.close(), monitoring].map((closing) => withTimeout(clock, CLOSE_TIMEOUT_MS, closing)),
      )
    },
  }
}

async function repeat(clock: Clock, everyMs: number, action: () => Promise<void>, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await clock.sleep(everyMs, stop)
    await action()
  }
}

/** Applies the parkings, releases and replay requests of other processes. */
async function refreshParkedKeys(groups: readonly GroupDispatcher[], parked: SharedParkedKeys): Promise<void> {
  const versions = groups.map((memberGroup) => [memberGroup, memberGroup.parkedKeysVersion()] as const)
  if (versions.length === 0) return
  const parkedStates = await parked.listStates()
  for (const [memberGroup, version] of versions) memberGroup.updateParkedKeys(parkedStates, version)
}
