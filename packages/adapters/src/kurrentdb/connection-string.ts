import { readFileSync } from 'node:fs'

export type KurrentSettings = {
  /** kurrentdb://, kurrentdb+discover:// or the same with esdb, with the client's own options: tls, tlsCAFile, userCertFile … */
  readonly url: string
  /** Path of a file with the password of the url's user. Every new connection reads the file again. */
  readonly passwordFile?: string
}

export type Credentials = { readonly username: string; readonly password: string }

const SCHEME = /^(?:kurrentdb|esdb)(\+discover)?:\/\//

/** Options that a url must not set, each with the reason. */
const REFUSED_OPTIONS = {
  throwOnAppendFailure: 'the error shows a conflict of appends',
  gossipTimeout: 'the client reads it as seconds in one place and as milliseconds in another',
}
/** Options for which the writing and the reading half of the client have different defaults. */
const DEFAULT_OPTIONS = { discoveryInterval: '100', maxDiscoverAttempts: '10' }

/**
 * Builds the connection string for the client, which accepts a user only with a password. Harmful options are refused.
 * @param avoidedHost `host:port` of a node that does not answer; it is omitted if the url has other hosts
 * @returns `text` for the client; `server`, the hosts for messages; `credentials` for reads, since the reading half of the client
 * does not decode the credentials of the url
 * @throws Error that names the setting to change, without the password
 */
export function buildConnectionString(
  { url, passwordFile }: KurrentSettings,
  avoidedHost?: string,
): { text: string; server: string; credentials?: Credentials } {
  const [scheme, discover = ''] = SCHEME.exec(url) ?? []
  if (scheme === undefined)
    throw new Error('The url of KurrentDB begins with kurrentdb://, kurrentdb+discover:// or the same with esdb.')
  const rest = url.slice(scheme.length)
  const at = rest.split('?', 1)[0]?.lastIndexOf('@') ?? -1
  const hosts = withDefaultOptions(withoutHost(rest.slice(at + 1), avoidedHost))
  const server = hosts.split('?', 1)[0] ?? ''
  if (at < 0 && !passwordFile) return { text: `kurrentdb${discover}://${hosts}`, server }
  const [user = '', ...inUrl] = rest.slice(0, Math.max(at, 0)).split(':')
  if (user === '') throw new Error('A password for KurrentDB needs a user in its url: kurrentdb://user@host:2113.')
  const username = decodeURIComponent(user)
  const password = passwordFile ? readPassword(passwordFile) : decodeURIComponent(inUrl.join(':'))
  if (password === '') throw new Error(`The url of KurrentDB names ${username} without a password, and no file contains one.`)
  const encoded = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`
  return { text: `kurrentdb${discover}://${encoded}@${hosts}`, server, credentials: { username, password } }
}

/** Omits a silent host if there are others. The client tries hosts in any order, and waits five seconds for a silent host. */
function withoutHost(hosts: string, avoidedHost: string | undefined): string {
  const [path = '', query] = hosts.split('?', 2)
  const remainingHosts = path.split(',').filter((host) => host !== avoidedHost)
  return `${remainingHosts.length > 0 ? remainingHosts.join(',') : path}${query === undefined ? '' : `?${query}`}`
}

function withDefaultOptions(hosts: string): string {
  const [path = '', query = ''] = hosts.split('?', 2)
  const options = query.split('&').filter((option) => option !== '')
  const names = new Set(options.map((option) => option.split('=', 1)[0]?.toLowerCase()))
  for (const [name, why] of Object.entries(REFUSED_OPTIONS))
    if (names.has(name.toLowerCase())) throw new Error(`The url of KurrentDB must not set ${name}: ${why}.`)
  for (const [name, value] of Object.entries(DEFAULT_OPTIONS))
    if (!names.has(name.toLowerCase())) options.push(`${name}=${value}`)
  return `${path.replace(/\/+$/, '')}?${options.join('&')}`
}

function readPassword(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(`The password file of KurrentDB, ${path}, cannot be read: ${String(error)}`, { cause: error })
  }
}
