import './mends.ts'
import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

type Metadata = (this: object) => Promise<unknown>
const cluster = createRequire(import.meta.url)('kafkajs/src/cluster/index.js') as { readonly prototype: { metadata: Metadata } } // untyped

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
