import { HOUR_MS } from '@penstock/kernel/time.ts'
import { readFile } from 'node:fs/promises'
import type { ConnectionOptions } from 'node:tls'
import type { SASLOptions } from 'kafkajs'
import type { KafkaBusOptions } from './bus.ts'
import type { BusLog } from './client.ts'

/** The Kafka part of the configuration. An empty text is an unset option. */
export type KafkaConfig = {
  readonly kafkaBrokers: string
  readonly kafkaPrefix: string
  readonly kafkaPartitions: number
  readonly kafkaReplicas: number
  readonly kafkaRetentionHours: number
  readonly kafkaSessionSeconds: number
  readonly kafkaTls: boolean
  readonly kafkaCaFile: string
  readonly kafkaCertFile: string
  readonly kafkaKeyFile: string
  readonly kafkaSasl: 'none' | 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer'
  readonly kafkaUser: string
  readonly kafkaPasswordFile: string
  readonly kafkaTokenFile: string
  readonly kafkaTokenUrl: string
}

const TOKEN_TIMEOUT_MS = 10_000

/**
 * @param clientId the service name for the brokers and in CloudEvents
 * @throws Error with an explanation for a missing setting or an unreadable file
 */
export async function loadKafkaOptions(config: KafkaConfig, clientId: string, log?: BusLog): Promise<KafkaBusOptions> {
  const tls = await tlsOf(config)
  const sasl = await saslOf(config)
  const brokers = config.kafkaBrokers.split(',').flatMap((broker) => broker.trim() || [])
  if (brokers.length === 0) throw new Error('PENSTOCK_KAFKA_BROKERS names no broker; it has to be host:port, …')
  return {
    brokers,
    clientId,
    prefix: config.kafkaPrefix,
    partitions: config.kafkaPartitions,
    replicas: config.kafkaReplicas,
    retentionMs: config.kafkaRetentionHours * HOUR_MS,
    sessionTimeoutMs: config.kafkaSessionSeconds * 1000,
    ...(tls && { tls }),
    ...(sasl && { sasl }),
    ...(log && { log }),
  }
}

async function tlsOf({
  kafkaTls,
  kafkaCaFile,
  kafkaCertFile,
  kafkaKeyFile,
}: KafkaConfig): Promise<ConnectionOptions | undefined> {
  if (!kafkaTls) return undefined
  if ((kafkaCertFile === '') !== (kafkaKeyFile === ''))
    throw new Error('PENSTOCK_KAFKA_CERT_FILE and PENSTOCK_KAFKA_KEY_FILE belong together: set both, or none.')
  return {
    ...(kafkaCaFile !== '' && { ca: await readSecret('PENSTOCK_KAFKA_CA_FILE', kafkaCaFile) }),
    ...(kafkaCertFile !== '' && {
      cert: await readSecret('PENSTOCK_KAFKA_CERT_FILE', kafkaCertFile),
      key: await readSecret('PENSTOCK_KAFKA_KEY_FILE', kafkaKeyFile),
    }),
  }
}

async function saslOf(config: KafkaConfig): Promise<SASLOptions | undefined> {
  const { kafkaSasl, kafkaUser, kafkaPasswordFile, kafkaTokenFile, kafkaTokenUrl } = config
  switch (kafkaSasl) {
    case 'none':
      return undefined
    case 'plain':
    case 'scram-sha-256':
    case 'scram-sha-512': {
      if (kafkaUser === '') throw new Error(`PENSTOCK_KAFKA_SASL=${kafkaSasl} needs PENSTOCK_KAFKA_USER.`)
      const password = await readSecret('PENSTOCK_KAFKA_PASSWORD_FILE', kafkaPasswordFile)
      return { mechanism: kafkaSasl, username: kafkaUser, password }
    }
    case 'oauthbearer': {
      if ((kafkaTokenFile === '') === (kafkaTokenUrl === ''))
        throw new Error('PENSTOCK_KAFKA_SASL=oauthbearer needs either PENSTOCK_KAFKA_TOKEN_FILE or PENSTOCK_KAFKA_TOKEN_URL.')
      // Read at every login, because tokens are renewed while the process runs.
      const token = () => (kafkaTokenFile === '' ? fetchToken(config) : readSecret('PENSTOCK_KAFKA_TOKEN_FILE', kafkaTokenFile))
      return { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: await token() }) }
    }
  }
}

/** Requests a token by the client credentials grant (RFC 6749 section 4.4). */
async function fetchToken({ kafkaTokenUrl, kafkaUser, kafkaPasswordFile }: KafkaConfig): Promise<string> {
  const password = await readSecret('PENSTOCK_KAFKA_PASSWORD_FILE', kafkaPasswordFile)
  const credentials = Buffer.from(`${encodeURIComponent(kafkaUser)}:${encodeURIComponent(password)}`).toString('base64')
  const response = await fetch(kafkaTokenUrl, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  })
  const answer: unknown = await response.json()
  if (typeof answer === 'object' && answer !== null && 'access_token' in answer && typeof answer.access_token === 'string')
    return answer.access_token
  throw new Error(`${kafkaTokenUrl} answered ${response.status} without an access token`)
}

async function readSecret(variable: string, path: string): Promise<string> {
  if (path === '') throw new Error(`${variable} has to name a file.`)
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw new Error(`${variable} names ${path}, which cannot be read: ${String(error)}`, { cause: error })
  }
}
