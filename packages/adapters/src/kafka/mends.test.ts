import './mends.ts'
import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'

const load = createRequire(import.meta.url)

type Metadata = (this: object) => Promise<unknown>
const cluster = load('kafkajs/src/cluster/index.js') as { readonly prototype: { metadata: Metadata } } // untyped

/** A client whose brokers answered so. */
const answered = (answer: object | null) => ({
  retrier: (act: (bail: (error: unknown) => never) => Promise<unknown>) =>
    act((error) => {
      throw error
    }),
  brokerPool: { refreshMetadataIfNecessary: async () => {}, withBroker: async () => answer },
})
const metadata = (answer: object | null): Promise<unknown> => cluster.prototype.metadata.call(answered(answer))

it('no broker that answers is a fault that may pass', async () => {
  await expect(metadata(null)).rejects.toMatchObject({ retriable: true })
})

it('what a broker answers is passed on', async () => {
  const answer = { topicMetadata: [] }
  expect(await metadata(answer)).toBe(answer)
})

type Asked = { readonly topics: readonly string[]; readonly allowAutoTopicCreation: boolean }
type AskBroker = (this: object, topics: readonly string[]) => Promise<unknown>
const broker = load('kafkajs/src/broker/index.js') as { readonly prototype: { metadata: AskBroker } } // untyped

it('no client lets a broker make a topic that it asks for', async () => {
  const asked: Asked[] = []
  const client = { allowAutoTopicCreation: true, lookupRequest: () => (request: Asked) => void asked.push(request) }
  // How it sends the request is not ours to know; it is made before.
  await broker.prototype.metadata.call(client, ['orders']).catch(() => {})
  expect(asked).toEqual([{ topics: ['orders'], allowAutoTopicCreation: false }])
})

type Recover = (this: object, error: Error) => Promise<void>
const group = load('kafkajs/src/consumer/consumerGroup.js') as { readonly prototype: { recoverFromFetch: Recover } } // untyped

it('a member whose topic is deleted ends; one whose leader has moved looks for it and stays', async () => {
  const course: string[] = []
  const member = {
    logger: { debug: () => {} },
    cluster: { refreshMetadata: async () => void course.push('looked') },
    joinAndSync: async () => void course.push('joined'),
  }
  const recover = (type: string) => group.prototype.recoverFromFetch.call(member, Object.assign(new Error(type), { type }))
  await expect(recover('UNKNOWN_TOPIC_OR_PARTITION')).rejects.toMatchObject({ retriable: false })
  expect(course).toEqual([])
  await recover('NOT_LEADER_FOR_PARTITION')
  expect(course).toEqual(['looked', 'joined'])
})

type Authenticators = new (
  connection: object,
  logger: object,
  versions: object,
  isNew: boolean,
) => { authenticate(): Promise<void> }
const Authenticator = load('kafkajs/src/broker/saslAuthenticator/index.js') as Authenticators // untyped

/** A log-in at a broker that takes the handshake and answers the password so. */
const logIn = (refusal: Error): Promise<void> => {
  const answers = [() => ({ enabledMechanisms: ['PLAIN'] })]
  const connection = {
    host: 'broker',
    port: 9092,
    sasl: { mechanism: 'plain', username: 'order', password: 'secret' },
    async send() {
      const answer = answers.shift()
      if (!answer) throw refusal
      return answer()
    },
  }
  const logger = { namespace: () => ({ debug: () => {}, error: () => {} }) }
  const versions = { 17: { minVersion: 0, maxVersion: 1 }, 36: { minVersion: 0, maxVersion: 1 } }
  return new Authenticator(connection, logger, versions, true).authenticate()
}

it('a connection that breaks off during a log-in may come back', async () => {
  const reset = new kafkajs.KafkaJSConnectionError('Connection error: read ECONNRESET')
  await expect(logIn(reset)).rejects.toMatchObject({ name: 'KafkaJSConnectionError', retriable: true })
})

it('a password that a broker refuses stays refused', async () => {
  const refusal = new kafkajs.KafkaJSProtocolError(Object.assign(new Error('wrong password'), { retriable: false }))
  await expect(logIn(refusal)).rejects.toMatchObject({ name: 'KafkaJSSASLAuthenticationError', retriable: false })
})
