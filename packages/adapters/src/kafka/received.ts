import type { BusMessage } from '@penstock/ports/bus.ts'
import type { KafkaMessage } from 'kafkajs'
import { fromCloudEvent } from './cloud-events.ts'

/** A message with its place in its topic, and when the broker added it there. */
export type Received = BusMessage & { readonly partition: number; readonly offset: number; readonly at: number }

export function received(partition: number, message: KafkaMessage): Received {
  const { id, headers } = fromCloudEvent(message.headers ?? {})
  return {
    id,
    key: String(message.key ?? ''),
    headers,
    body: String(message.value ?? ''),
    partition,
    offset: Number(message.offset),
    at: Number(message.timestamp),
  }
}
