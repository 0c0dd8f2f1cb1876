import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A request that reached a receiver. Its `status` is 0 if the receiver sent no HTTP answer. */
export type ReceivedWebhook = {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly envelopeId: string
  readonly eventType: string
  readonly transactionId: string
  /** How often this receiver got this event before. */
  readonly repetition: number
  readonly status: number
}

/** An answer of a receiver: a status, an answer after a pause, or a fault of the connection. */
export type ReceiverAnswer = number | { readonly status: number; readonly afterMs: number } | 'hang' | 'garbage' | 'close'

type Arrived = Omit<ReceivedWebhook, 'status'>
export type AnswerWebhook = (webhook: Arrived) => ReceiverAnswer
/** Starts one server on loopback, with a receiver at each path of `answers`. A test may replace an answer. */
export async function startWebhookReceivers<Path extends string>(answers: Record<Path, AnswerWebhook>) {
  const received: ReceivedWebhook[] = []
  const server = createServer((request, response) => void receive(request, response).catch(() => response.destroy()))
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').slice(1)
    const body = (await buffer(request)).toString()
    const { id, event_type: eventType, data } = JSON.parse(body) as WebhookEnvelope
    const repetition = received.filter((one) => one.path === path && one.envelopeId === id).length
    const headers = request.headers as Record<string, string> // webhooks repeat no header
    const webhook = { path, headers, body, envelopeId: id, eventType, transactionId: data.id, repetition }
    const answer = path in answers ? answers[path as Path](webhook) : 404
    received.push({ ...webhook, status: typeof answer === 'number' ? answer : typeof answer === 'string' ? 0 : answer.status })
    respond(response, answer)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a server on a port has such an address
  return {
    answers,
    urlOf: (path: Path): string => `http://127.0.0.1:${port}/${path}`,
    /** The requests at a path, in the order of their arrival. */
    at: (path: Path): readonly ReceivedWebhook[] => received.filter((one) => one.path === path),
    async stop(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The fields of a body that tests read. */
export type WebhookEnvelope = {
  readonly id: string
  readonly event_type: string
  readonly environment: string
  readonly environment_id: string
  readonly node_id: null
  readonly data: {
    readonly id: string
    readonly direction: string
    readonly status: string
    readonly metadata: Readonly<Record<string, unknown>> | null
  }
}

function respond(response: ServerResponse, answer: ReceiverAnswer): void {
  if (answer === 'hang') return
  if (answer === 'close') response.socket?.destroy()
  else if (answer === 'garbage') response.socket?.end('220 this server speaks no HTTP\r\n\r\n')
  else if (typeof answer === 'number') response.writeHead(answer).end()
  else setTimeout(() => response.writeHead(answer.status).end(), answer.afterMs)
}

/** Computes the signature of a delivery as its receiver does, from the raw body. */
export const signatureOf = ({ headers, body }: Pick<ReceivedWebhook, 'headers' | 'body'>, secret: string): string =>
  createHmac('sha256', secret).update(`${headers['x-webhook-timestamp']}.${body}`).digest('hex')
