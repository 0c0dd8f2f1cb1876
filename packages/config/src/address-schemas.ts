import { z } from 'zod'

type WebAddressRules = {
  /** The beginning of the error message, such as "an http:// or https:// address". */
  readonly kind?: string
  readonly schemes?: readonly string[]
  /** A token endpoint may have a query (RFC 6749, section 3.2), and its path is not extended. */
  readonly isEndpoint?: boolean
}

type ParsedAddress = { readonly address: string } | { readonly expected: string }

/** Parses the base address of a service. @returns the address without a slash at its end, since clients append a path; or the expected form */
export function parseWebAddress(
  text: string,
  { kind = 'an http:// or https:// address', schemes = ['http', 'https'], isEndpoint = false }: WebAddressRules = {},
): ParsedAddress {
  const url = readUrl(text, schemes)
  if (!url) return { expected: `${kind} with a host, such as ${schemes.at(-1)}://market.example` }
  if (url.username !== '' || url.password !== '') return { expected: `${kind} without a user and a password` }
  if (text.includes('#') || (text.includes('?') && !isEndpoint)) return { expected: `${kind} without ? and #` }
  return { address: isEndpoint ? url.href : `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}` }
}

/** The address of a service, or empty. All settings that are the address of a service have this schema, or `serverUrl`. */
export const webAddress = (rules: WebAddressRules = {}) => optional((text) => parseWebAddress(text, rules))

type ServerUrlRules = {
  readonly kind: string
  readonly schemes: readonly string[]
  readonly mayHaveQuery?: boolean
  /** Schemes that take several hosts, separated by commas. */
  readonly clusterSchemes?: readonly string[]
}

/** The url of a database or a node, which may contain a user, a password and options; or empty. It is not changed. */
export const serverUrl = (rules: ServerUrlRules) => optional((text) => parseServerUrl(text, rules))

const PERCENT_ENCODE =
  'in its user and password, write each of : / ? # [ ] @ % percent-encoded, such as %3F for ?; write @ elsewhere as %40'

function parseServerUrl(
  text: string,
  { kind, schemes, mayHaveQuery = false, clusterSchemes = [] }: ServerUrlRules,
): ParsedAddress {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z+]+):\/\/([^/?#]*)(.*)$/i.exec(text) ?? []
  const name = scheme.toLowerCase()
  if (!schemes.includes(name)) return { expected: kind }
  const userEnd = authority.lastIndexOf('@')
  const hosts = authority.slice(userEnd + 1).split(',')
  const isCluster = clusterSchemes.includes(name)
  // A socket in a folder is written as the option `host`.
  const isLocalSocket = authority === '' && /[?&]host=./.test(rest)
  const areHostsValid =
    isLocalSocket || ((isCluster || hosts.length === 1) && hosts.every((host) => isSocket(host) || isHost(host)))
  const isEncoded = !rest.includes('@') && isDecodable(authority.slice(0, Math.max(userEnd, 0)))
  if (!areHostsValid || !isEncoded || !(isCluster || URL.canParse(text)))
    return { expected: `${kind} with a host; ${PERCENT_ENCODE}` }
  if (rest.includes('#') || (rest.includes('?') && !mayHaveQuery))
    return { expected: `${kind} without ${mayHaveQuery ? '#' : '? and #'}; ${PERCENT_ENCODE}` }
  return { address: text }
}

/** Brokers or a node as host:port, several of them separated by commas; or empty. */
export const hostsAndPorts = (count: 'one' | 'several') =>
  optional((text) => {
    // Lists that are made from a template may end with a comma.
    const hosts = text
      .split(',')
      .map((host) => host.trim())
      .filter((host) => host !== '' || count === 'one')
    const isValid =
      hosts.length > 0 &&
      (count === 'several' || hosts.length === 1) &&
      hosts.every((host) => /:\d{1,5}$/.test(host) && isHost(host))
    if (isValid) return { address: hosts.join(',') }
    return { expected: count === 'one' ? 'host:port' : 'host:port, several of them separated by commas' }
  })

/** Trims the text, as it may be pasted, and parses it unless it is empty. */
const optional = (parse: (text: string) => ParsedAddress) =>
  z.string().transform((text, context) => {
    const trimmed = text.trim()
    const parsed = trimmed === '' ? { address: '' } : parse(trimmed)
    if ('address' in parsed) return parsed.address
    context.addIssue({ code: 'custom', message: parsed.expected })
    return z.NEVER
  })

/** Without `//`, the parser would take "https:host" for an address too. It also ignores line breaks. */
const readUrl = (text: string, schemes: readonly string[]): URL | undefined => {
  const [, scheme = ''] = /^([a-z+]+):\/\/[^/?#\\\s][^\s\\]*$/i.exec(text) ?? []
  return schemes.includes(scheme.toLowerCase()) && URL.canParse(text) ? new URL(text) : undefined
}

/** The folder of a socket of PostgreSQL. */
const isSocket = (host: string): boolean => /^%2f[^\s/?#@\\]*$/i.test(host) && isDecodable(host)

const isHost = (host: string): boolean => /^[^\s/?#@\\]+$/.test(host) && URL.canParse(`http://${host}`)

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
