import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import { createFetchSession, type FetchTopic, type SessionRequest, type SessionResponse } from './fetch-session.ts'

/*
 * Makes kafkajs 2.2.4 fetch in sessions. Without this patch, each fetch and its response list all partitions that a client reads
 * from a broker. The cost of a message then grows with the number of topics. A program has to load this module before it creates
 * its first client.
 */

// Node cannot import the errors of this CommonJS package by name.
const { KafkaJSError } = kafkajs

type FetchRequest = { readonly topics: readonly FetchTopic[] }
type FetchResponse = SessionResponse & { readonly responses: readonly object[] }
type Send = (this: Broker, request: object) => Promise<FetchResponse>

type Broker = {
  readonly fetch: (this: Broker, request: FetchRequest) => Promise<FetchResponse>
  /** @returns a function that encodes a request in the newest version that the broker knows */
  readonly lookupRequest: (apiKey: number, requests: object) => (request: FetchRequest & SessionRequest) => object
}

const load = createRequire(import.meta.url)
const { prototype: brokers } = load('kafkajs/src/broker/index.js') as { readonly prototype: Broker } // its class, untyped
const { requests } = load('kafkajs/src/protocol/requests/index.js') as { readonly requests: { readonly Fetch: object } } // untyped
const { Fetch: FETCH_KEY } = load('kafkajs/src/protocol/requests/apiKeys.js') as { readonly Fetch: number } // untyped

/** The method that sends a request has no public name. */
function findSendMethod(): Send {
  const key = Object.getOwnPropertySymbols(brokers).find(({ description }) => description === 'private:Broker:sendRequest')
  const send = key && (brokers as unknown as Record<symbol, Send>)[key]
  if (!send) throw new Error('this version of kafkajs sends requests in another way')
  return send
}
const send = findSendMethod()
const sessions = new WeakMap<Broker, ReturnType<typeof createFetchSession>>()

Object.assign(brokers, {
  /** A client reads from each broker by one fetch at a time. */
  async fetch(this: Broker, request: FetchRequest): Promise<FetchResponse> {
    const session = sessions.get(this) ?? createFetchSession()
    sessions.set(this, session)
    const encode = this.lookupRequest(FETCH_KEY, requests.Fetch)
    const fetchOnce = (): Promise<FetchResponse> => send.call(this, encode({ ...request, ...session.begin(request.topics) }))
    try {
      const response = await fetchOnce()
      if (session.end(response)) return response
      // The broker has forgotten the session, so this fetch begins a new one.
      const repeated = await fetchOnce()
      if (session.end(repeated)) return repeated
      throw new KafkaJSError(`a broker refused a fetch with code ${repeated.errorCode}`, { retriable: true })
    } catch (error) {
      session.reset()
      throw error
    }
  },
})
