import type { LoadClock } from '../load-clock.ts'
import { createFakeTransport } from '../market/fake-transport.fixture.ts'
import type { OutgoingRequest, Transport } from '../market/http-transport.ts'

const INVOICE = 'lnbcrt50u1x'
const INVOICE_MSAT = '5000000'
const QUICK_MS = 30
const SLOW_MS = 500
const SELLER = `02${'cd'.repeat(32)}`

type FakeMarketOptions = {
  readonly clock: LoadClock
  /** The market admits so many purchases per second, at equal distances. It refuses the others. */
  readonly perSecond: number
  /** The time after the last refusal in which purchases are slow. */
  readonly slowMs: number
  /** Whether the nth paid order of the market ends without a channel. */
  readonly isLost: (nth: number) => boolean
  readonly isSimulated: boolean
}

/** A market of a simulated network that refuses purchases beyond its capacity. A paid order is sold at once. */
export function createFakeMarket({ clock, perSecond, slowMs, isLost, isSimulated }: FakeMarketOptions): Transport {
  const lostOrders = new Set<string>()
  const paidOrders: string[] = []
  let [orderCount, slowUntil, freeAt] = [0, 0, 0]
  const buy = async (): Promise<object> => {
    const now = clock.monotonicMs()
    if (now < freeAt) {
      slowUntil = now + slowMs
      return { errors: [{ message: 'The market is busy.', extensions: { code: 'BUSY', retry_after: 1 } }] }
    }
    freeAt = now + 1000 / perSecond
    await clock.sleep(now < slowUntil ? SLOW_MS : QUICK_MS)
    const id = `order-${orderCount++}`
    const payment = { lightning_invoice: `${INVOICE}${id}`, redirect_url: `http://a.example/checkout/${id}` }
    return { data: { liquidity: { buy: { account: { session_key: 'key' }, order: { transaction_id: id }, payment } } } }
  }
  const pay = (id: string): object => {
    if (isLost(paidOrders.push(id))) lostOrders.add(id)
    return { payment_hash: id, state: 'SUCCEEDED' }
  }
  const statusOf = (id: string): string => {
    if (!paidOrders.includes(id)) return 'WAITING_FOR_BUYER_PAYMENT'
    return lostOrders.has(id) ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : 'VALID_CHANNEL_OPENING'
  }
  const report = (id: string): object => ({
    status: statusOf(id),
    seller_pubkey: SELLER,
    hold: { status: lostOrders.has(id) ? 'cancelled' : 'settled' },
    payout: { state: 'SUCCEEDED', payee: SELLER },
    ledger: lostOrders.has(id) ? [] : [{ posting: 'sale', entries: createEntries() }],
  })
  const answer = ({ path, body }: OutgoingRequest): object | Promise<object> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body ?? {})
    const idIn = (from: string): string => /order-\d+/.exec(from)?.[0] ?? ''
    if (text.includes('buy(')) return buy()
    if (text.includes('get_order('))
      return { data: { user: { market: { orders: { get_order: { status: statusOf(idIn(text)) } } } } } }
    if (path === '/graphql') return { data: { market: { liquidity: { liquidity_per_usd: { sats: '1' } } } } }
    if (path === '/operator/sim/nodes') return NODES
    if (path === '/operator/sim/balances') return BALANCES
    if (path === '/operator/sim/pay') return pay(idIn(text))
    if (path === '/operator/sim/mine') return { height: 100 }
    if (path.startsWith('/operator/sim/payments/')) return { state: lostOrders.has(idIn(path)) ? 'FAILED' : 'SUCCEEDED' }
    if (path.startsWith('/operator/orders/')) return report(idIn(path))
    if (path === '/operator/audit/verify') return { divergences: 0, first: null, log: { unproven: null }, ledger_balanced: true }
    return []
  }
  const transport = createFakeTransport(answer)
  return {
    ...transport,
    async send(request, signal, onClose) {
      const response = await transport.send(request, signal, onClose)
      return isSimulated || !request.path.startsWith('/operator/sim/') ? response : { ...response, status: 404 }
    },
  }
}

const NODES = [
  { alias: 'market', role: 'market', pubkey: '02aa', uri: '02aa@a:1' },
  { alias: 'buyer', role: 'buyer', pubkey: '02bb', uri: '02bb@b:1' },
  { alias: 'seller', role: 'seller', pubkey: SELLER, uri: `${SELLER}@c:1` },
]
const BALANCES = {
  total_msat: '100000',
  in_flight_msat: '0',
  nodes: [{ alias: 'market', on_chain_msat: '0', channel_msat: '7' }],
}
/** The market keeps nothing of a sale, so its balance is constant. */
const createEntries = () => [
  { account: 'received', amountMsat: INVOICE_MSAT },
  { account: 'paid-out', amountMsat: `-${INVOICE_MSAT}` },
]
