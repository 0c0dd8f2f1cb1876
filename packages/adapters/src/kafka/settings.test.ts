import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type KafkaConfig, loadKafkaOptions } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-kafka-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
const plain: KafkaConfig = {
  kafkaBrokers: 'a:9092, b:9092',
  kafkaPrefix: 'x.',
  kafkaPartitions: 12,
  kafkaReplicas: 3,
  kafkaRetentionHours: 24,
  kafkaSessionSeconds: 10,
  kafkaTls: false,
  kafkaCaFile: '',
  kafkaCertFile: '',
  kafkaKeyFile: '',
  kafkaSasl: 'none',
  kafkaUser: '',
  kafkaPasswordFile: '',
  kafkaTokenFile: '',
  kafkaTokenUrl: '',
}

test('brokers without TLS and login need only their addresses', async () => {
  expect(await loadKafkaOptions(plain, 'order')).toEqual({
    brokers: ['a:9092', 'b:9092'],
    clientId: 'order',
    prefix: 'x.',
    partitions: 12,
    replicas: 3,
    retentionMs: 86_400_000,
    sessionTimeoutMs: 10_000,
  })
})

test('certificates and secrets are read from files', async () => {
  const config: KafkaConfig = {
    ...plain,
    kafkaTls: true,
    kafkaCaFile: file('ca', 'CA'),
    kafkaCertFile: file('cert', 'CERT'),
    kafkaKeyFile: file('key', 'KEY'),
    kafkaSasl: 'scram-sha-256',
    kafkaUser: 'penstock',
    kafkaPasswordFile: file('password', 'secret\n'),
  }
  expect(await loadKafkaOptions(config, 'order')).toMatchObject({
    tls: { ca: 'CA', cert: 'CERT', key: 'KEY' },
    sasl: { mechanism: 'scram-sha-256', username: 'penstock', password: 'secret' },
  })
})

test('a PLAIN login uses the user name and the password file', async () => {
  const config: KafkaConfig = {
    ...plain,
    kafkaSasl: 'plain',
    kafkaUser: 'penstock',
    kafkaPasswordFile: file('password', 'secret'),
  }
  expect((await loadKafkaOptions(config, 'order')).sasl).toEqual({ mechanism: 'plain', username: 'penstock', password: 'secret' })
})

test.each<[string, Partial<KafkaConfig>, string]>([
  ['an empty broker list', { kafkaBrokers: ' ' }, 'PENSTOCK_KAFKA_BROKERS'],
  ['a certificate without its key', { kafkaTls: true, kafkaCertFile: '/cert' }, 'belong together'],
  ['a missing file', { kafkaTls: true, kafkaCaFile: '/no/such/file' }, 'PENSTOCK_KAFKA_CA_FILE'],
  ['SCRAM without a user', { kafkaSasl: 'scram-sha-512' }, 'PENSTOCK_KAFKA_USER'],
  ['SCRAM without a password', { kafkaSasl: 'scram-sha-512', kafkaUser: 'a' }, 'PENSTOCK_KAFKA_PASSWORD_FILE'],
  ['OAUTHBEARER without a token source', { kafkaSasl: 'oauthbearer' }, 'PENSTOCK_KAFKA_TOKEN_FILE'],
])('%s is refused with an error about the setting', async (_, invalid, message) => {
  await expect(loadKafkaOptions({ ...plain, ...invalid }, 'order')).rejects.toThrow(message)
})
