import type { BusMessage } from '@penstock/ports/bus.ts'
import type { KafkaMessage } from 'kafkajs'
import { fromCloudEvent } from '../cloud-events.ts'

/** A message with its partition, its offset and the broker's timestamp. */
export type ReceivedMessage = BusMessage & { readonly partition: number; readonly offset: number; readonly at: number }

export function toBusMessage(partition: number, message: KafkaMessage): ReceivedMessage {
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
