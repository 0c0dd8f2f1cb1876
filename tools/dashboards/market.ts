import { type Dashboard, perHour, quantile } from './panel.ts'

export const market: Dashboard = {
  uid: 'market',
  title: 'market',
  panels: [
    {
      title: 'Orders by the hour',
      about: 'Placed, sold, and ended without a sale.',
      unit: 'short',
      queries: {
        placed: perHour('order', 'OrderPlaced'),
        sold: perHour('order', 'OrderValid'),
        'not paid': perHour('order', 'BuyerFailedToPay'),
        'withdrawn by the buyer': perHour('order', 'BuyerRejected'),
        'refused by the seller': perHour('order', 'SellerRejected'),
        'not opened': perHour('order', 'SellerFailedToOpenChannel'),
        'funding lost': perHour('order', 'SellerFailedToSendSwap'),
        'channel wrong': perHour('order', 'InvalidChannelOpening'),
        'closed by an operator': perHour('order', 'AdminClosed'),
      },
    },
    {
      title: 'Open orders',
      about: 'Those of whose buyers the money can still be taken or locked.',
      unit: 'short',
      queries: { '{{status}}': 'max by (status) (penstock_orders_open)' },
    },
    {
      title: 'Quotes',
      about: 'Refused quotes are wishes that no offer can serve.',
      unit: 'ops',
      queries: {
        '{{outcome}}': 'sum by (outcome) (rate(penstock_commands_handled_total{component="quote",type="RequestQuote"}[5m]))',
      },
    },
    {
      title: 'Sellers',
      about: 'Sellers whose agent was heard of lately, and what became of searches for a seller.',
      unit: 'short',
      queries: {
        live: 'max(penstock_sellers_live)',
        'found by the hour': perHour('match', 'Matched'),
        'attempts that failed by the hour': perHour('order', 'AttemptFailed'),
      },
    },
    {
      title: 'Requests',
      about: 'By route and status; GraphQL answers with 200 also where it refuses.',
      unit: 'reqps',
      queries: { '{{route}} {{status}}': 'sum by (route, status) (rate(penstock_http_requests_total[5m]))' },
    },
    {
      title: 'Answers, 99th percentile',
      about: '`buy` waits for a quote, an order and an invoice, each of them durable.',
      unit: 's',
      queries: { '{{method}} {{route}}': quantile(0.99, 'penstock_http_request_duration_seconds', 'route, method') },
    },
    {
      title: 'Refused log-ins',
      about: 'Log-ins and calls of operators that were refused; `limited` where there were too many.',
      unit: 'ops',
      queries: { '{{method}} {{code}}': 'sum by (method, code) (rate(penstock_authentication_refused_total[5m]))' },
    },
    {
      title: 'GraphQL errors',
      about: 'INTERNAL_SERVER_ERROR is a fault of ours; the others are refusals.',
      unit: 'ops',
      queries: { '{{code}}': 'sum by (code) (rate(penstock_graphql_errors_total[5m]))' },
    },
  ],
}
