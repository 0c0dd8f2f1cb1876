import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadKafkaOptions } from '@penstock/adapters/kafka/settings.ts'
import { readConfig } from '@penstock/config/config.ts'
import { installKafka } from '@penstock/servers/kafka-install.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { createOrderChecker, createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { useOwnBrokers, isKafkaMissing, openKafkaBus, createPrefix } from './servers.ts'
import { runSuccessfullySync } from '../support/processes.ts'

// Each suite has brokers of its own, because it configures their listener.

const folder = mkdtempSync(join(tmpdir(), 'penstock-secure-'))
afterAll(() => rmSync(folder, { recursive: true }))
const inFolder = (name: string): string => join(folder, name)
function writeSecret(name: string, text: string): string {
  writeFileSync(inFolder(name), text, { mode: 0o600 })
  return inFolder(name)
}

/** Creates a self-signed certificate for loopback. */
function createCertificate(name: string): { readonly ca: string; readonly key: string; readonly pem: string } {
  const [key, ca] = [inFolder(`${name}.key`), inFolder(`${name}.crt`)]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', ca, ...subject]
  runSuccessfullySync('openssl', args)
  return { ca, key, pem: readFileSync(key, 'utf8') + readFileSync(ca, 'utf8') }
}

/** Loads the Kafka options from the environment and from secret files, as an operator configures them. */
const settingsFor = (addresses: readonly string[], extraSettings: Record<string, string>) =>
  loadKafkaOptions(
    readConfig({
      PENSTOCK_KAFKA_BROKERS: addresses.join(', '),
      PENSTOCK_KAFKA_PREFIX: createPrefix(),
      PENSTOCK_KAFKA_PARTITIONS: '2',
      PENSTOCK_KAFKA_REPLICAS: '1',
      PENSTOCK_KAFKA_SESSION_SECONDS: '2',
      PENSTOCK_KAFKA_TLS: '1',
      ...extraSettings,
    }),
    'order',
  )

type Settings = Awaited<ReturnType<typeof settingsFor>>

/** Publishes and reads at least one message, and continues for `forMs` milliseconds. */
async function exchangeMessages(settings: Settings, forMs = 0): Promise<void> {
  const opened = await openKafkaBus(settings, ':memory:')
  try {
    const checker = createOrderChecker()
    await opened.bus.subscribe({
      group: 'readers',
      topic: 'load',
      handle: async (message) => (await checker.handle(message), 'done'),
    })
    const end = Date.now() + forMs
    for (let n = 0; n === 0 || Date.now() < end; n++) {
      await opened.bus.publish('load', [createNumberedMessage('a', n)])
      await pollUntil(() => checker.handled('a') === n + 1, 'a message')
    }
    expect(checker.breaches).toEqual([])
  } finally {
    await opened.close()
  }
}
const expectRefused = async (settings: Settings): Promise<void> => {
  const opened = await openKafkaBus({ ...settings, publishTimeoutMs: 2000 }, ':memory:')
  await expect(opened.bus.publish('load', [createNumberedMessage('a', 0)])).rejects.toThrow(/looked up|in time/)
  await opened.close()
}

describe.skipIf(isKafkaMissing)('TLS and SCRAM', () => {
  const ownCertificate = isKafkaMissing ? { ca: '', pem: '' } : createCertificate('own')
  const password = 'correct horse battery'
  const servers = useOwnBrokers({ secure: { pem: ownCertificate.pem, scram: { user: 'penstock', password } } })
  const scram = (secret: string, ca = ownCertificate.ca) =>
    settingsFor(servers().secureBrokers, {
      PENSTOCK_KAFKA_CA_FILE: ca,
      PENSTOCK_KAFKA_SASL: 'scram-sha-512',
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: writeSecret('password', `${secret}\n`),
    })

  it('work with settings alone', async () => exchangeMessages(await scram(password)))
  it('reject a client with another password', async () => expectRefused(await scram('a guess')))
  it('reject a broker whose CA is unknown', async () => expectRefused(await scram(password, createCertificate('other').ca)))
})

/** Adds a user to running brokers, as an operator does. */
async function addUser(address: string, user: string, mechanism: string, password: string): Promise<void> {
  const about = [
    '--alter',
    '--entity-type',
    'users',
    '--entity-name',
    user,
    '--add-config',
    `${mechanism}=[password=${password}]`,
  ]
  const classPath = await installKafka()
  runSuccessfullySync('java', ['-cp', classPath, 'kafka.admin.ConfigCommand', '--bootstrap-server', address, ...about])
}

describe.skipIf(isKafkaMissing)('client certificates and SCRAM-SHA-256', () => {
  const none = { ca: '', key: '', pem: '' }
  const [ownCertificate, client, other] = isKafkaMissing
    ? [none, none, none]
    : [createCertificate('broker'), createCertificate('client'), createCertificate('stranger')]
  const password = 'battery horse'
  const listenerPrefix = 'listener.name.sasl_ssl'
  const servers = useOwnBrokers({
    secure: { pem: ownCertificate.pem, scram: { user: 'somebody', password: 'else' } },
    settings: {
      'sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
      [`${listenerPrefix}.scram-sha-256.sasl.jaas.config`]: 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
      [`${listenerPrefix}.ssl.client.auth`]: 'required',
      [`${listenerPrefix}.ssl.truststore.type`]: 'PEM',
      [`${listenerPrefix}.ssl.truststore.location`]: client.ca,
    },
  })
  const settings = (extraSettings: Record<string, string>) =>
    settingsFor(servers().secureBrokers, {
      PENSTOCK_KAFKA_CA_FILE: ownCertificate.ca,
      PENSTOCK_KAFKA_SASL: 'scram-sha-256',
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: writeSecret('password-256', `${password}\n`),
      ...extraSettings,
    })
  const certificateSettings = ({ ca, key }: typeof none) => ({ PENSTOCK_KAFKA_CERT_FILE: ca, PENSTOCK_KAFKA_KEY_FILE: key })

  it('work with settings alone', async () => {
    await addUser(servers().brokers[0] ?? '', 'penstock', 'SCRAM-SHA-256', password)
    await exchangeMessages(await settings(certificateSettings(client)))
  })
  it('reject a client with another certificate or without a certificate', async () => {
    await expectRefused(await settings(certificateSettings(other)))
    await expectRefused(await settings({}))
  })
})

/** Creates an unsigned token, which only the brokers of tests accept. */
function createToken(subject: string): string {
  const now = Math.floor(Date.now() / 1000)
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now, exp: now + 600 })}.`
}

describe.skipIf(isKafkaMissing)('TLS and OAUTHBEARER', () => {
  const ownCertificate = isKafkaMissing ? { ca: '', pem: '' } : createCertificate('bearer')
  const servers = useOwnBrokers({ secure: { pem: ownCertificate.pem } })
  const oauth = (extraSettings: Record<string, string>) =>
    settingsFor(servers().secureBrokers, {
      PENSTOCK_KAFKA_CA_FILE: ownCertificate.ca,
      PENSTOCK_KAFKA_SASL: 'oauthbearer',
      ...extraSettings,
    })

  it('work with a token from a file', async () =>
    exchangeMessages(await oauth({ PENSTOCK_KAFKA_TOKEN_FILE: writeSecret('token', `${createToken('penstock')}\n`) })))
  it('reject a client without a valid token', async () =>
    expectRefused(await oauth({ PENSTOCK_KAFKA_TOKEN_FILE: writeSecret('none', 'nothing') })))
  it('fetch tokens from the configured URL, and log in again before the session ends', async () => {
    const tokenRequests: string[] = []
    const issuer = createServer((request, response) => {
      tokenRequests.push(`${request.method} ${Buffer.from(String(request.headers.authorization).slice(6), 'base64').toString()}`)
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: createToken('penstock'), expires_in: 600 }))
    }).listen(0, '127.0.0.1')
    await once(issuer, 'listening')
    const { port } = issuer.address() as AddressInfo // the address of a TCP server
    const settings = await oauth({
      PENSTOCK_KAFKA_TOKEN_URL: `http://127.0.0.1:${port}/token`,
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: writeSecret('client-secret', 'quiet'),
    })
    await exchangeMessages(settings)
    const before = tokenRequests.length
    await exchangeMessages(settings, 5000)
    // The new connections need as many log-ins as before. Every additional log-in renews the session of an open connection.
    expect(tokenRequests.length).toBeGreaterThan(2 * before)
    expect(new Set(tokenRequests)).toEqual(new Set(['POST penstock:quiet']))
    issuer.close()
  })
})
