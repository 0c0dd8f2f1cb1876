import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type KafkaConfig, kafkaOptions } from './settings.ts'

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

test('plain brokers need no more than their names', async () => {
  expect(await kafkaOptions(plain, 'order')).toEqual({
    brokers: ['a:9092', 'b:9092'],
    clientId: 'order',
    prefix: 'x.',
    partitions: 12,
    replicas: 3,
    retentionMs: 86_400_000,
    sessionTimeoutMs: 10_000,
  })
})

test('certificates and secrets come from files', async () => {
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
  expect(await kafkaOptions(config, 'order')).toMatchObject({
    tls: { ca: 'CA', cert: 'CERT', key: 'KEY' },
    sasl: { mechanism: 'scram-sha-256', username: 'penstock', password: 'secret' },
  })
})

test('a log-in by name and password', async () => {
  const config: KafkaConfig = {
    ...plain,
    kafkaSasl: 'plain',
    kafkaUser: 'penstock',
    kafkaPasswordFile: file('password', 'secret'),
  }
  expect((await kafkaOptions(config, 'order')).sasl).toEqual({ mechanism: 'plain', username: 'penstock', password: 'secret' })
})

test.each<[string, Partial<KafkaConfig>, string]>([
  ['no broker', { kafkaBrokers: ' ' }, 'PENSTOCK_KAFKA_BROKERS'],
  ['a certificate without its key', { kafkaTls: true, kafkaCertFile: '/cert' }, 'belong together'],
  ['a file that is not there', { kafkaTls: true, kafkaCaFile: '/no/such/file' }, 'PENSTOCK_KAFKA_CA_FILE'],
  ['SCRAM without a user', { kafkaSasl: 'scram-sha-512' }, 'PENSTOCK_KAFKA_USER'],
  ['SCRAM without a password', { kafkaSasl: 'scram-sha-512', kafkaUser: 'a' }, 'PENSTOCK_KAFKA_PASSWORD_FILE'],
  ['tokens from nowhere', { kafkaSasl: 'oauthbearer' }, 'PENSTOCK_KAFKA_TOKEN_FILE'],
])('%s is said', async (_, wrong, said) => {
  await expect(kafkaOptions({ ...plain, ...wrong }, 'order')).rejects.toThrow(said)
})
