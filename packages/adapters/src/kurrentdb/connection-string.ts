import { readFileSync } from 'node:fs'

export type KurrentSettings = {
  /** kurrentdb://, kurrentdb+discover:// or the same with esdb, with the client's own options: tls, tlsCAFile, userCertFile … */
  readonly url: string
  /** File with the password of the url's user; it is read again for every new connection. */
  readonly passwordFile?: string
}

export type Credentials = { readonly username: string; readonly password: string }

const SCHEME = /^(?:kurrentdb|esdb)(\+discover)?:\/\//

/** Options that would change what answers mean, with the reason. */
const REFUSED = {
  throwOnAppendFailure: 'conflicts of appends are told by it',
  gossipTimeout: 'the client takes it for seconds in one place and for milliseconds in another',
}
/** The client writes and reads in two ways, which have other standards for these. */
const STANDARD = { discoveryInterval: '100', maxDiscoverAttempts: '10' }

/**
 * The client takes a user only with a password. Options that would break it are refused.
 * @param avoided `host:port` of a node that does not answer; it is left out where the url names others
 * @returns the credentials beside it, since the reading half does not decode those of the url; `server`: the hosts, for people
 * @throws Error with what to change; it never shows the password
 */
export function connectionString(
  { url, passwordFile }: KurrentSettings,
  avoided?: string,
): { text: string; server: string; credentials?: Credentials } {
  const [scheme, discover = ''] = SCHEME.exec(url) ?? []
  if (scheme === undefined)
    throw new Error('The url of KurrentDB begins with kurrentdb://, kurrentdb+discover:// or the same with esdb.')
  const rest = url.slice(scheme.length)
  const at = rest.split('?', 1)[0]?.lastIndexOf('@') ?? -1
  const hosts = withStandards(without(rest.slice(at + 1), avoided))
  const server = hosts.split('?', 1)[0] ?? ''
  if (at < 0 && !passwordFile) return { text: `kurrentdb${discover}://${hosts}`, server }
  const [user = '', ...inUrl] = rest.slice(0, Math.max(at, 0)).split(':')
  if (user === '') throw new Error('A password for KurrentDB needs a user in its url: kurrentdb://user@host:2113.')
  const username = decodeURIComponent(user)
  const password = passwordFile ? readPassword(passwordFile) : decodeURIComponent(inUrl.join(':'))
  if (password === '') throw new Error(`The url of KurrentDB names ${username} without a password, and no file has it.`)
  const encoded = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`
  return { text: `kurrentdb${discover}://${encoded}@${hosts}`, server, credentials: { username, password } }
}

/** Of several hosts those that answer: the client gives one that says nothing five seconds, and asks in any order. */
function without(hosts: string, avoided: string | undefined): string {
  const [path = '', query] = hosts.split('?', 2)
  const others = path.split(',').filter((host) => host !== avoided)
  return `${others.length > 0 ? others.join(',') : path}${query === undefined ? '' : `?${query}`}`
}

function withStandards(hosts: string): string {
  const [path = '', query = ''] = hosts.split('?', 2)
  const options = query.split('&').filter((option) => option !== '')
  const names = new Set(options.map((option) => option.split('=', 1)[0]?.toLowerCase()))
  for (const [name, why] of Object.entries(REFUSED))
    if (names.has(name.toLowerCase())) throw new Error(`The url of KurrentDB must not set ${name}: ${why}.`)
  for (const [name, value] of Object.entries(STANDARD)) if (!names.has(name.toLowerCase())) options.push(`${name}=${value}`)
  return `${path.replace(/\/+$/, '')}?${options.join('&')}`
}

function readPassword(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new Error(`The password file of KurrentDB, ${path}, cannot be read: ${String(error)}`, { cause: error })
  }
}
