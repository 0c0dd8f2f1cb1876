import { redirectUrlOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { recordText } from '../read/accounts.ts'
import type { OrderView } from '../views/order-view.ts'

/** Where a customer goes after the purchase. `host` is shown beside the link, so that nobody is led anywhere unseen. */
export type Next = { readonly href: string; readonly host: string | null }

/** The caller's address, else the order's own status page. @param standard the status page */
export async function redirectOf(
  { records, config }: Pick<Gateway, 'records' | 'config'>,
  { terms }: OrderView,
  standard: string,
): Promise<Next> {
  const text = await recordText(records, terms.record?.id ?? null, 'redirect_url')
  const href = text === undefined ? undefined : allowed(text, config.allowHttpRedirect)
  return href === undefined ? { href: standard, host: null } : { href, host: new URL(href).host }
}

/** Checked again: what was allowed when it was stored may not be any more. */
function allowed(text: string, allowLocalhost: boolean): string | undefined {
  try {
    return redirectUrlOf(text, allowLocalhost)
  } catch {
    return undefined
  }
}
