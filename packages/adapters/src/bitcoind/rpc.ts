import { readFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { Fault } from '@penstock/kernel/result.ts'

export type RpcAddress = {
  /** http(s)://user:password@host:port */
  readonly url: string
  /** The password, or bitcoind's `.cookie`, read for each call: bitcoind writes another one at each start. Undefined: in the url. */
  readonly passwordFile?: string
  /** The certificate that btcd shows; undefined: one of a known authority. */
  readonly certFile?: string
}

/** The node understood the call, and says no. `code` is of bitcoind's list (src/rpc/protocol.h). */
export class RpcRefusal extends Fault {
  readonly code: number
  constructor(method: string, code: number, message: string) {
    super(`bitcoin node, ${method}: ${message} (${code})`)
    this.code = code
  }
}

/** bitcoind's and btcd's code for a transaction or block that they do not have. */
export const NOT_FOUND = -5

/** @throws RpcRefusal for the node's no, another Fault where it does not answer */
export type Rpc = <T>(method: string, ...params: readonly unknown[]) => Promise<T>

const ANSWER_MS = 30_000

export function rpcOf({ url, passwordFile, certFile }: RpcAddress): Rpc {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const { Agent, request } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  return async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const auth = await credentials(decodeURIComponent(username), decodeURIComponent(password), passwordFile)
    const ca = certFile === undefined ? undefined : await readOrFault(certFile)
    const body = JSON.stringify({ jsonrpc: '1.0', id: 'penstock', method, params })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const target = { hostname, port, path: pathname, method: 'POST', auth, headers, agent, timeout: ANSWER_MS }
    const call = request(ca === undefined ? target : { ...target, ca })
    const { status, text } = await send(call, body)
    if (status === 401 || status === 403) throw new Fault('the bitcoin node refuses our user or password')
    return answer<T>(method, text)
  }
}

async function credentials(user: string, password: string, file: string | undefined): Promise<string> {
  if (file === undefined) return `${user}:${password}`
  const text = (await readOrFault(file)).trim()
  return text.startsWith('__cookie__:') ? text : `${user}:${text}`
}

async function readOrFault(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Fault(`${file} cannot be read: it is needed to talk to the bitcoin node`, { cause: error })
  }
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

function answer<T>(method: string, text: string): T {
  let parsed: { readonly result: T; readonly error: { readonly code: number; readonly message: string } | null }
  try {
    parsed = JSON.parse(text) as typeof parsed // JSON-RPC's own form
  } catch (error) {
    throw new Fault(`the bitcoin node answers ${method} with something that is no JSON: ${text.slice(0, 100)}`, { cause: error })
  }
  if (parsed.error) throw new RpcRefusal(method, parsed.error.code, parsed.error.message)
  return parsed.result
}
