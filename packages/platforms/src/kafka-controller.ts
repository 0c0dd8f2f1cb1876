import { type KafkaClientOptions, createKafkaClient, noRetry } from '@penstock/adapters/kafka/client.ts'

/**
 * @returns whether the brokers have a controller; a broker that hangs during its shutdown may still accept connections
 * @throws the client's error if no broker answers
 */
export async function hasKafkaController(
  brokers: readonly string[],
  sasl: NonNullable<KafkaClientOptions['sasl']>,
): Promise<boolean> {
  const admin = createKafkaClient({ brokers, clientId: 'launcher', sasl }, noRetry).admin()
  try {
    await admin.connect()
    return (await admin.describeCluster()).controller !== null
  } finally {
    await admin.disconnect()
  }
}
