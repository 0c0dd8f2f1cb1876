import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Fault } from '@penstock/kernel/result.ts'

export type RpcAddress = {
  /** http(s)://user:password@host:port, or ws(s)://user:password@host:port/ws of a btcd */
  readonly url: string
  /** The password, or bitcoind's `.cookie`, read again after a failure: bitcoind writes another one at each start. Undefined: in the url. */
  readonly passwordFile?: string
  /** The certificate that btcd shows; undefined: one of a known authority. */
  readonly certFile?: string
}

/** What opens the node: read and unpacked once, and not for each of the connections, of which btcd wants many. */
export type Keys = { readonly auth: string; readonly secureContext?: SecureContext }

/** @throws Fault where a file cannot be read */
export async function readKeys({ url, passwordFile, certFile }: RpcAddress): Promise<Keys> {
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

/** @param status of HTTP, as the node answered. @returns what is wrong where it does not know us */
export const refusalOf = (status: number | undefined): Fault | undefined =>
  status === 401 || status === 403 ? new Fault('the bitcoin node refuses our user or password') : undefined
