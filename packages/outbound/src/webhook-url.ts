import type { HostGuard } from './host-guard.ts'
import { isLoopback, parseHost } from './host.ts'

export type WebhookUrlOptions = {
  /** Allows http and https to this machine, on every port. It allows nothing else. */
  readonly allowLoopback: boolean
}

/** `url` is normalised as WHATWG URL does. `reason` is a sentence for the caller. */
export type CheckedWebhookUrl = { readonly ok: true; readonly url: string } | { readonly ok: false; readonly reason: string }

const MAX_LENGTH = 2048
const HTTPS_PORT = 443
const FIRST_UNPRIVILEGED_PORT = 1024

/**
 * Checks the text of a webhook URL, without a name server: https, port 443 or at least 1024, no user name, no password, no
 * fragment, and a host that is an address or a public name.
 */
export function checkWebhookUrl(text: string, options: WebhookUrlOptions): CheckedWebhookUrl {
  const parsed = parseWebhookUrl(text, options)
  return 'reason' in parsed ? { ok: false, reason: parsed.reason } : { ok: true, url: parsed.url.href }
}

/** Checks the text of a webhook URL, and asks the guard whether its host is public. */
export async function checkWebhookTarget(guard: HostGuard, text: string, options: WebhookUrlOptions): Promise<CheckedWebhookUrl> {
  const parsed = parseWebhookUrl(text, options)
  if ('reason' in parsed) return { ok: false, reason: parsed.reason }
  const { url } = parsed
  if (options.allowLoopback && isLoopback(url.hostname)) return { ok: true, url: url.href }
  const checked = await guard(url.hostname)
  return checked.allowed ? { ok: true, url: url.href } : { ok: false, reason: `The webhook URL is refused: ${checked.reason}.` }
}

type ParsedUrl = { readonly url: URL } | { readonly reason: string }

function parseWebhookUrl(text: string, { allowLoopback }: WebhookUrlOptions): ParsedUrl {
  if (text.length > MAX_LENGTH) return { reason: `A webhook URL has at most ${MAX_LENGTH} characters.` }
  // A URL parser removes blanks and control characters, and reads a backslash as a slash. Receivers may read such texts differently.
  if (/[\s\p{Cc}\\]/u.test(text) || !URL.canParse(text))
    return { reason: 'A webhook URL is an absolute https URL without blanks.' }
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') return { reason: 'A webhook URL has no user name and no password.' }
  if (url.hash !== '') return { reason: 'A webhook URL has no fragment, because a fragment is never sent.' }
  if (allowLoopback && /^https?:$/.test(url.protocol) && isLoopback(url.hostname)) return { url }
  if (url.protocol !== 'https:') return { reason: 'A webhook URL begins with https://.' }
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  if (port !== HTTPS_PORT && port < FIRST_UNPRIVILEGED_PORT)
    return { reason: `The port of a webhook URL is ${HTTPS_PORT}, or at least ${FIRST_UNPRIVILEGED_PORT}.` }
  const host = parseHost(url.hostname)
  if (!host || host.kind === 'onion') return { reason: 'The host of a webhook URL is a public address or a public name.' }
  // TLS takes no dot at the end of a name (RFC 6066, section 3).
  if (host.kind === 'name') url.hostname = host.text
  return { url }
}
