import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kafkaOptions } from '@penstock/adapters/kafka/settings.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { installKafka } from '@penstock/servers/kafka-install.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { ledger, numbered, until } from './load.ts'
import { brokers, noKafka, openBus, ownPrefix } from './servers.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-secure-'))
afterAll(() => rmSync(folder, { recursive: true }))
const inFolder = (name: string): string => join(folder, name)
function written(name: string, text: string): string {
  writeFileSync(inFolder(name), text, { mode: 0o600 })
  return inFolder(name)
}

/** A certificate for loopback that signs itself. */
function certificate(name: string): { readonly ca: string; readonly key: string; readonly pem: string } {
  const [key, ca] = [inFolder(`${name}.key`), inFolder(`${name}.crt`)]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', ca, ...subject]
  execFileSync('openssl', args, { stdio: 'ignore' })
  return { ca, key, pem: readFileSync(key, 'utf8') + readFileSync(ca, 'utf8') }
}

/** Everything as an operator says it: by the environment, with secrets in files. */
const settingsFor = (addresses: readonly string[], more: Record<string, string>) =>
  kafkaOptions(
    readConfig({
      PENSTOCK_KAFKA_BROKERS: addresses.join(', '),
      PENSTOCK_KAFKA_PREFIX: ownPrefix(),
      PENSTOCK_KAFKA_PARTITIONS: '2',
      PENSTOCK_KAFKA_REPLICAS: '1',
      PENSTOCK_KAFKA_SESSION_SECONDS: '2',
      PENSTOCK_KAFKA_TLS: '1',
      ...more,
    }),
    'order',
  )

type Settings = Awaited<ReturnType<typeof settingsFor>>

/** Publishes and reads, for as long as it is told. */
async function exchange(settings: Settings, forMs = 0): Promise<void> {
  const opened = await openBus(settings, ':memory:')
  try {
    const seen = ledger()
    await opened.bus.subscribe({ group: 'readers', topic: 'load', handle: async (message) => (await seen.see(message), 'done') })
    const end = Date.now() + forMs
    for (let n = 0; n === 0 || Date.now() < end; n++) {
      await opened.bus.publish('load', [numbered('a', n)])
      await until(() => seen.handled('a') === n + 1, 'a message')
    }
    expect(seen.breaches).toEqual([])
  } finally {
    await opened.close()
  }
}
const refused = async (settings: Settings): Promise<void> => {
  const opened = await openBus({ ...settings, publishTimeoutMs: 2000 }, ':memory:')
  await expect(opened.bus.publish('load', [numbered('a', 0)])).rejects.toThrow(/looked up|in time/)
  await opened.close()
}

describe.skipIf(noKafka)('TLS and SCRAM', () => {
  const own = noKafka ? { ca: '', pem: '' } : certificate('own')
  const password = 'correct horse battery'
  const servers = brokers({ secure: { pem: own.pem, scram: { user: 'penstock', password } } })
  const scram = (secret: string, ca = own.ca) =>
    settingsFor(servers().secureBrokers, {
      PENSTOCK_KAFKA_CA_FILE: ca,
      PENSTOCK_KAFKA_SASL: 'scram-sha-512',
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: written('password', `${secret}\n`),
    })

  it('work by configuration', async () => exchange(await scram(password)))
  it('let nobody in with another password', async () => refused(await scram('a guess')))
  it('talk to no broker whose certificate is unknown', async () => refused(await scram(password, certificate('other').ca)))
})

/** As an operator adds a user to brokers that run. */
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
  execFileSync('java', ['-cp', classPath, 'kafka.admin.ConfigCommand', '--bootstrap-server', address, ...about], {
    stdio: 'ignore',
  })
}

describe.skipIf(noKafka)('client certificates and SCRAM-SHA-256', () => {
  const none = { ca: '', key: '', pem: '' }
  const [own, client, other] = noKafka
    ? [none, none, none]
    : [certificate('broker'), certificate('client'), certificate('stranger')]
  const password = 'battery horse'
  const door = 'listener.name.sasl_ssl'
  const servers = brokers({
    secure: { pem: own.pem, scram: { user: 'somebody', password: 'else' } },
    settings: {
      'sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
      [`${door}.scram-sha-256.sasl.jaas.config`]: 'org.apache.kafka.common.security.scram.ScramLoginModule required;',
      [`${door}.ssl.client.auth`]: 'required',
      [`${door}.ssl.truststore.type`]: 'PEM',
      [`${door}.ssl.truststore.location`]: client.ca,
    },
  })
  const settings = (more: Record<string, string>) =>
    settingsFor(servers().secureBrokers, {
      PENSTOCK_KAFKA_CA_FILE: own.ca,
      PENSTOCK_KAFKA_SASL: 'scram-sha-256',
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: written('password-256', `${password}\n`),
      ...more,
    })
  const shown = ({ ca, key }: typeof none) => ({ PENSTOCK_KAFKA_CERT_FILE: ca, PENSTOCK_KAFKA_KEY_FILE: key })

  it('work by configuration', async () => {
    await addUser(servers().brokers[0] ?? '', 'penstock', 'SCRAM-SHA-256', password)
    await exchange(await settings(shown(client)))
  })
  it('let nobody in with another certificate, or with none', async () => {
    await refused(await settings(shown(other)))
    await refused(await settings({}))
  })
})

/** A token as an issuer without a key writes it, which only brokers of tests accept. */
function token(subject: string): string {
  const now = Math.floor(Date.now() / 1000)
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part({ sub: subject, iat: now, exp: now + 600 })}.`
}

describe.skipIf(noKafka)('TLS and OAUTHBEARER', () => {
  const own = noKafka ? { ca: '', pem: '' } : certificate('bearer')
  const servers = brokers({ secure: { pem: own.pem } })
  const oauth = (more: Record<string, string>) =>
    settingsFor(servers().secureBrokers, { PENSTOCK_KAFKA_CA_FILE: own.ca, PENSTOCK_KAFKA_SASL: 'oauthbearer', ...more })

  it('work with a token from a file', async () =>
    exchange(await oauth({ PENSTOCK_KAFKA_TOKEN_FILE: written('token', `${token('penstock')}\n`) })))
  it('let nobody in without a token', async () => refused(await oauth({ PENSTOCK_KAFKA_TOKEN_FILE: written('none', 'nothing') })))
  it('fetch tokens where they are issued, and log in again before the session ends', async () => {
    const asked: string[] = []
    const issuer = createServer((request, response) => {
      asked.push(`${request.method} ${Buffer.from(String(request.headers.authorization).slice(6), 'base64').toString()}`)
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ access_token: token('penstock'), expires_in: 600 }))
    }).listen(0, '127.0.0.1')
    await once(issuer, 'listening')
    const { port } = issuer.address() as AddressInfo // it listens on TCP
    const settings = await oauth({
      PENSTOCK_KAFKA_TOKEN_URL: `http://127.0.0.1:${port}/token`,
      PENSTOCK_KAFKA_USER: 'penstock',
      PENSTOCK_KAFKA_PASSWORD_FILE: written('client-secret', 'quiet'),
    })
    await exchange(settings)
    const before = asked.length
    await exchange(settings, 5000)
    // As many log-ins as before for the new connections; those above are the same connections again.
    expect(asked.length).toBeGreaterThan(2 * before)
    expect(new Set(asked)).toEqual(new Set(['POST penstock:quiet']))
    issuer.close()
  })
})
