import * as http from 'node:http'
import * as https from 'node:https'
import { Fault } from '@penstock/kernel/result.ts'
import { batches } from './batches.ts'
import { type Answer, ANSWER_MS, type Call } from './call.ts'
import { type Keys, readKeys, refusalOf, type RpcAddress } from './keys.ts'

/** Calls as requests of HTTP, which every node takes. */
export function requestCalls(address: RpcAddress): (call: Call) => Promise<Answer> {
  const { protocol, hostname, port, pathname } = new URL(address.url)
  const { Agent, request } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  let keys: Promise<Keys> | undefined
  return batches(async (body) => {
    try {
      keys ??= readKeys(address)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const target = { hostname, port, path: pathname, method: 'POST', headers, agent, timeout: ANSWER_MS, ...(await keys) }
      const { status, text } = await send(request(target), body)
      const refusal = refusalOf(status)
      if (refusal) throw refusal
      return parsed(text)
    } catch (error) {
      // The node writes them anew at a start.
      keys = undefined
      throw error
    }
  })
}

function send(call: http.ClientRequest, body: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Fault(`the bitcoin node does not answer: ${error.message}`, { cause: error }))
    call.on('timeout', () => call.destroy(new Error(`nothing for ${ANSWER_MS} ms`)))
    call.on('error', fail)
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', fail).on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    call.end(body)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault(`the bitcoin node answers with something that is no JSON: ${text.slice(0, 100)}`, { cause: error })
  }
}
