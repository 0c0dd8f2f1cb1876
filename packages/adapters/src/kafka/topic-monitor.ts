import type { Clock } from '@penstock/ports/clock.ts'
import type { Admin, Kafka } from 'kafkajs'
import type { BusLog } from './client.ts'
import type { TopicManager } from './topics.ts'
import type { ExpectedGroup } from './expected-groups.ts'

type MonitorOptions = {
  readonly everyMs: number
  readonly clock: Clock
  readonly log: BusLog | undefined
  readonly signal: AbortSignal
}

/** Number of rounds from one lag measurement to the next, because a measurement costs a request per group and two per topic. */
const MEASURE_EVERY_ROUNDS = 6

/**
 * Checks the topics and measures the lag of the groups at intervals, until the signal aborts.
 * @param kafka a client with few retries, because the next round repeats a failed request
 */
export async function monitorTopics(
  kafka: Kafka,
  topics: TopicManager,
  expectedGroups: () => readonly ExpectedGroup[],
  options: MonitorOptions,
): Promise<void> {
  const { everyMs, clock, log, signal } = options
  let admin: Admin | undefined
  for (let round = 0; !signal.aborted; round++) {
    await clock.sleep(everyMs, signal)
    if (signal.aborted) break
    const measuredGroups = round % MEASURE_EVERY_ROUNDS === 0 ? expectedGroups() : []
    const failures: unknown[] = []
    const recordFailure = (error: unknown): void => void failures.push(error)
    try {
      admin ??= await connectAdmin(kafka)
      await topics.checkTopics(admin).catch(recordFailure)
      if (measuredGroups.length > 0) await measureLag(admin, measuredGroups, recordFailure)
    } catch (error) {
      recordFailure(error)
    }
    if (failures.length === 0) continue
    log?.debug({ reason: String(failures[0]) }, 'checking topics and groups failed; retrying')
    // After a request for a deleted topic, a client fails at every later request. So the next round creates a new client.
    disconnect(admin)
    admin = undefined
  }
  disconnect(admin)
}

async function connectAdmin(kafka: Kafka): Promise<Admin> {
  const admin = kafka.admin()
  try {
    await admin.connect()
    return admin
  } catch (error) {
    disconnect(admin)
    throw error
  }
}

function disconnect(admin: Admin | undefined): void {
  void admin?.disconnect().catch(() => {})
}

async function measureLag(
  admin: Admin,
  expectedGroups: readonly ExpectedGroup[],
  onFailure: (error: unknown) => void,
): Promise<void> {
  const committed = new Map<ExpectedGroup, ReadonlyMap<number, number>>()
  for (const [groupId, ofGroup] of Map.groupBy(expectedGroups, (one) => one.groupId)) {
    const found = await admin.fetchOffsets({ groupId, topics: ofGroup.map(({ topic }) => topic) }).catch(onFailure)
    for (const { topic, partitions } of found ?? []) {
      const group = ofGroup.find((one) => one.topic === topic)
      if (group) committed.set(group, new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)])))
    }
  }
  // Committed offsets are read first: the log can only grow in between, so no offset is beyond its end.
  for (const [topic, ofTopic] of Map.groupBy([...committed], ([group]) => group.topic)) {
    const logs = await admin.fetchTopicOffsets(topic).catch(onFailure)
    if (!logs) continue
    for (const [{ lag }, offsets] of ofTopic)
      lag.note(
        logs.map(({ partition, low, high }) => {
          const offset = offsets.get(partition) ?? -1
          return { partition, low: Number(low), high: Number(high), committedOffset: offset < 0 ? undefined : offset }
        }),
      )
  }
}
