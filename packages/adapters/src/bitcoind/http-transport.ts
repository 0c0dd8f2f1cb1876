import * as http from 'node:http'
import * as https from 'node:https'
import { Fault } from '@penstock/kernel/result.ts'
import { createRpcBatcher } from './rpc-batcher.ts'
import { type RpcResponse, RESPONSE_TIMEOUT_MS, type RpcCall } from './rpc-call.ts'
import { type RpcCredentials, readRpcCredentials, toAuthFault, type RpcAddress } from './rpc-credentials.ts'

/** Sends calls as HTTP requests, which every node accepts. */
export function createHttpTransport(address: RpcAddress): (call: RpcCall) => Promise<RpcResponse> {
  const { protocol, hostname, port, pathname } = new URL(address.url)
  const { Agent, request } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  let credentials: Promise<RpcCredentials> | undefined
  return createRpcBatcher(async (body) => {
    try {
      credentials ??= readRpcCredentials(address)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const target = {
        hostname,
        port,
        path: pathname,
        method: 'POST',
        headers,
        agent,
        timeout: RESPONSE_TIMEOUT_MS,
        ...(await credentials),
      }
      const { status, text } = await sendRequest(request(target), body)
      const authFault = toAuthFault(status)
      if (authFault) throw authFault
      return parseJson(text)
    } catch (error) {
      // The next call reads the credentials again, because the node writes new ones at each start.
      credentials = undefined
      throw error
    }
  })
}

function sendRequest(call: http.ClientRequest, body: string): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(new Fault(`the bitcoin node does not answer: ${error.message}`, { cause: error }))
    call.on('timeout', () => call.destroy(new Error(`timeout after ${RESPONSE_TIMEOUT_MS} ms`)))
    call.on('error', fail)
    call.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('error', fail).on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    call.end(body)
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault(`the bitcoin node answered with invalid JSON: ${text.slice(0, 100)}`, { cause: error })
  }
}
