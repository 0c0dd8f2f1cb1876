import { parseRedirectUrl } from '../input.ts'
import type { Gateway } from '../ports.ts'
import type { OrderView } from '../market/views/order-view.ts'
import { readRecordText } from '../read-record-text.ts'

/** The URL to which the customer goes after the purchase. The page shows `host`, so that the link's target is visible. */
export type RedirectTarget = { readonly href: string; readonly host: string | null }

/** @returns the order's redirect_url, else its status page */
export async function findRedirect(
  { records, config }: Pick<Gateway, 'records' | 'config'>,
  { terms }: OrderView,
  statusPageUrl: string,
): Promise<RedirectTarget> {
  const text = await readRecordText(records, terms.record?.id ?? null, 'redirect_url')
  const href = text === undefined ? undefined : parseAllowedUrl(text, config.allowHttpRedirect)
  return href === undefined ? { href: statusPageUrl, host: null } : { href, host: new URL(href).host }
}

/** Checks the stored URL again, because the rules may have changed. */
function parseAllowedUrl(text: string, allowLocalhost: boolean): string | undefined {
  try {
    return parseRedirectUrl(text, allowLocalhost)
  } catch {
    return undefined
  }
}
