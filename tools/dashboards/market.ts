import { type Dashboard, queryFactsPerHour, queryQuantile } from './panel.ts'

export const marketDashboard: Dashboard = {
  uid: 'market',
  title: 'market',
  panels: [
    {
      title: 'Orders per hour',
      about:
        'Placed orders, sales, and orders that ended without a sale. `refused by the seller` includes orders for which no seller had the capacity.',
      unit: 'short',
      queries: {
        placed: queryFactsPerHour('order', 'OrderPlaced'),
        sold: queryFactsPerHour('order', 'OrderValid'),
        'not paid': queryFactsPerHour('order', 'BuyerFailedToPay'),
        'withdrawn by the buyer': queryFactsPerHour('order', 'BuyerRejected'),
        'refused by the seller': queryFactsPerHour('order', 'SellerRejected'),
        'not accepted by the seller in time': queryFactsPerHour('order', 'SellerFailedToReact'),
        'not opened': queryFactsPerHour('order', 'SellerFailedToOpenChannel'),
        'funding lost': queryFactsPerHour('order', 'SellerFailedToSendSwap'),
        'channel invalid': queryFactsPerHour('order', 'InvalidChannelOpening'),
        'closed by an operator': queryFactsPerHour('order', 'AdminClosed'),
      },
    },
    {
      title: 'Open orders',
      about: "Orders whose buyer's money can still be taken or locked, by status.",
      unit: 'short',
      queries: { '{{status}}': 'max by (status) (penstock_orders_open)' },
    },
    {
      title: 'Quotes',
      about: 'Quote requests by outcome. A request is refused, for example, if no offer can serve it.',
      unit: 'ops',
      queries: {
        '{{outcome}}':
          'sum by (outcome) (rate(penstock_commands_handled_total{component="quote",type="RequestQuote"}[$__rate_interval]))',
      },
    },
    {
      title: 'Purchases under way',
      about: 'Purchases that wait for their order, and the current limit of such purchases at all gateways.',
      unit: 'short',
      queries: { 'under way': 'sum(penstock_purchases_under_way)', limit: 'sum(penstock_purchases_limit)' },
    },
    {
      title: 'Purchases refused',
      about: 'Purchases that the gateways refuse because the market is busy.',
      unit: 'ops',
      queries: { refused: 'sum(rate(penstock_purchases_busy_total[$__rate_interval]))' },
    },
    {
      title: 'Late commands',
      about: 'Commands that are dropped because their deadline has passed. The service has more work than it can do.',
      unit: 'ops',
      queries: { '{{component}} {{type}}': 'sum by (component, type) (rate(penstock_commands_late_total[$__rate_interval]))' },
    },
    {
      title: 'Sellers',
      about: 'Sellers whose agent has attested its funds within `PENSTOCK_LIVE_SECONDS`.',
      unit: 'short',
      kind: 'stat',
      limits: { when: 'below', bad: 1 },
      queries: { live: 'max(penstock_sellers_live)' },
    },
    {
      title: 'Searches for a seller per hour',
      about: 'Searches that found a seller, and failed attempts of the sellers that were found.',
      unit: 'short',
      queries: { found: queryFactsPerHour('match', 'Matched'), 'attempt failed': queryFactsPerHour('order', 'AttemptFailed') },
    },
    {
      title: 'Requests',
      about: 'Requests by route and status. A GraphQL answer with errors can also have status 200.',
      unit: 'reqps',
      queries: { '{{route}} {{status}}': 'sum by (route, status) (rate(penstock_http_requests_total[$__rate_interval]))' },
    },
    {
      title: 'Response time, 99th percentile',
      about: 'Time to the end of the answer. `buy` waits until a quote, an order and an invoice are stored.',
      unit: 's',
      queries: { '{{method}} {{route}}': queryQuantile(0.99, 'penstock_http_request_duration_seconds', 'route, method') },
    },
    {
      title: 'Refused log-ins',
      about: 'Refused log-ins and operator calls. `limited`: there were too many. `wrong`: the credential was wrong.',
      unit: 'ops',
      queries: { '{{method}} {{code}}': 'sum by (method, code) (rate(penstock_authentication_refused_total[$__rate_interval]))' },
    },
    {
      title: 'GraphQL errors',
      about:
        '`INTERNAL_SERVER_ERROR` is an error of the market. All other codes are refusals, `MARKET_BUSY` those of a busy market.',
      unit: 'ops',
      queries: { '{{code}}': 'sum by (code) (rate(penstock_graphql_errors_total[$__rate_interval]))' },
    },
  ],
}
