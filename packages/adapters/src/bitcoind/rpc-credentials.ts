import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Fault } from '@penstock/kernel/result.ts'

export type RpcAddress = {
  /** http(s)://user:password@host:port, or ws(s)://user:password@host:port/ws of a btcd */
  readonly url: string
  /**
   * A file with the password, or bitcoind's `.cookie` file. The transport reads the file again after a failure, because bitcoind
   * writes a new cookie at each start. If undefined, the URL contains the password.
   */
  readonly passwordFile?: string
  /** The certificate file of btcd. If undefined, a trusted authority must have signed the node's certificate. */
  readonly certFile?: string
}

/** Credentials of the node. The HTTP transport reads them once for all its connections, because btcd needs many connections. */
export type RpcCredentials = { readonly auth: string; readonly secureContext?: SecureContext }

/** @throws Fault if a file cannot be read */
export async function readRpcCredentials({ url, passwordFile, certFile }: RpcAddress): Promise<RpcCredentials> {
  const { username, password } = new URL(url)
  const auth = await readAuth(decodeURIComponent(username), decodeURIComponent(password), passwordFile)
  return certFile === undefined ? { auth } : { auth, secureContext: createSecureContext({ ca: await readOrFault(certFile) }) }
}

async function readAuth(user: string, password: string, file: string | undefined): Promise<string> {
  if (file === undefined) return `${user}:${password}`
  const text = (await readOrFault(file)).trim()
  return text.startsWith('__cookie__:') ? text : `${user}:${text}`
}

async function readOrFault(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new Fault(`${file} cannot be read: it is needed to connect to the bitcoin node`, { cause: error })
  }
}

/** @param status the HTTP status of the answer. @returns a Fault if the node refuses the credentials */
export const toAuthFault = (status: number | undefined): Fault | undefined =>
  status === 401 || status === 403 ? new Fault('the bitcoin node refuses our user or password') : undefined
