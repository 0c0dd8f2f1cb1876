import { readFile } from 'node:fs/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Fault } from '@penstock/kernel/result.ts'
import { batches } from './batches.ts'

export type RpcAddress = {
  /** http(s)://user:password@host:port */
  readonly url: string
  /** The password, or bitcoind's `.cookie`, read again after a failure: bitcoind writes another one at each start. Undefined: in the url. */
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

export function rpcOf(address: RpcAddress): Rpc {
  const { protocol, hostname, port, pathname } = new URL(address.url)
  const { Agent, request } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  let keys: Promise<Keys> | undefined
  const call = batches(async (body) => {
    try {
      keys ??= readKeys(address)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const target = { hostname, port, path: pathname, method: 'POST', headers, agent, timeout: ANSWER_MS, ...(await keys) }
      const { status, text } = await send(request(target), body)
      if (status === 401 || status === 403) throw new Fault('the bitcoin node refuses our user or password')
      return parsed(text)
    } catch (error) {
      // The node writes them anew at a start.
      keys = undefined
      throw error
    }
  })
  return async <T>(method: string, ...params: readonly unknown[]): Promise<T> => {
    const { result, error } = await call({ method, params })
    if (error) throw new RpcRefusal(method, error.code, error.message)
    return result as T // what the caller knows of the method
  }
}

/** What opens the node: read and unpacked once, and not for each of the connections, of which btcd wants many. */
type Keys = { readonly auth: string; readonly secureContext?: SecureContext }

async function readKeys({ url, passwordFile, certFile }: RpcAddress): Promise<Keys> {
  const { username, password } = new URL(url)
  const auth = await credentials(decodeURIComponent(username), decodeURIComponent(password), passwordFile)
  return certFile === undefined ? { auth } : { auth, secureContext: createSecureContext({ ca: await readOrFault(certFile) }) }
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Fault(`the bitcoin node answers with something that is no JSON: ${text.slice(0, 100)}`, { cause: error })
  }
}
