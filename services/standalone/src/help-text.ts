import { hostsOfUrl } from '@penstock/config/event-store-address.ts'

export const HELP = `Usage: npm start [-- --no-demo]

Runs the whole market in one process on SQLite, with a simulated Lightning network.

  --no-demo   do not buy a channel and take a payment as a demonstration
  --help      this text

Settings are environment variables: docs/configuration.md`

type Network = { readonly network: string; readonly simulated: object | null }

/** The text that is printed once everything runs. */
export const banner = (url: string, dataDir: string, { network, simulated }: Network, eventStore: string): string => `
Penstock runs. The Lightning network is ${simulated ? 'simulated' : `${network}, by lnd`}; the data is in ${dataDir}${eventStore === '' ? '' : `, the facts are in the event store at ${hostsOfUrl(eventStore)}`}

  pages      ${url}/
  GraphQL    ${url}/graphql   (open it in a browser for the explorer)
  REST       ${url}/api/lsp/v1/recommended/get_info
  payments   docs/guides/payments.md begins with an account, a sandbox and an invoice
  commands   ./penstock ${simulated ? 'sim nodes' : 'help'}
  stop       Ctrl-C
`
