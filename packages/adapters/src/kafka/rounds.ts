import type { Clock } from '@penstock/ports/clock.ts'
import type { Admin, Kafka } from 'kafkajs'
import type { BusLog } from './client.ts'
import type { Topics } from './topics.ts'
import type { Wanted } from './wanted.ts'

type RoundsOptions = {
  readonly everyMs: number
  readonly clock: Clock
  readonly log: BusLog | undefined
  readonly signal: AbortSignal
}

/** The first round measures, and then one of so many: it costs some requests for each group. */
const MEASURED_EVERY = 3

/**
 * Asks the brokers again and again whether the topics are as they were found, and how far the groups are. Ends with the signal.
 * @param kafka a client that gives up soon: what fails is asked in the next round
 */
export async function rounds(
  kafka: Kafka,
  topics: Topics,
  wanted: () => readonly Wanted[],
  options: RoundsOptions,
): Promise<void> {
  const { everyMs, clock, log, signal } = options
  let admin: Admin | undefined
  for (let round = 0; !signal.aborted; round++) {
    await clock.sleep(everyMs, signal)
    if (signal.aborted) break
    const asked = round % MEASURED_EVERY === 0 ? wanted() : []
    const failures: unknown[] = []
    const failed = (error: unknown): void => void failures.push(error)
    try {
      admin ??= await connected(kafka)
      await topics.review(admin).catch(failed)
      for (const one of asked) await measure(admin, one).catch(failed)
    } catch (error) {
      failed(error)
    }
    if (failures.length === 0) continue
    log?.debug({ reason: String(failures[0]) }, 'the brokers do not tell of topics and groups; they are asked again')
    // One that has asked for a topic that is gone answers nothing else any more.
    disconnect(admin)
    admin = undefined
  }
  disconnect(admin)
}

async function connected(kafka: Kafka): Promise<Admin> {
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

async function measure(admin: Admin, { groupId, topic, lag }: Wanted): Promise<void> {
  // First the places: a log only grows meanwhile.
  const [known] = await admin.fetchOffsets({ groupId, topics: [topic] })
  const places = new Map(known?.partitions.map(({ partition, offset }) => [partition, Number(offset)]))
  const logs = await admin.fetchTopicOffsets(topic)
  lag.note(
    logs.map(({ partition, low, high }) => {
      const place = places.get(partition) ?? -1
      return { partition, low: Number(low), high: Number(high), place: place < 0 ? undefined : place }
    }),
  )
}
