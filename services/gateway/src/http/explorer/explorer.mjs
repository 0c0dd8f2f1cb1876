const examples = {
  'What a dollar buys': { query: '{ market { liquidity { liquidity_per_usd { sats usd } } } }' },
  'The offer book': {
    query: `query Offers($page: PageInput) {
  market {
    offer {
      offers(page: $page) {
        total_count
        list { id status pubkey available_size min_size max_size fee_rate base_fee auto_accept seller { live rails score } }
      }
    }
  }
}`,
    variables: { page: { limit: 10, offset: 0 } },
  },
  'Buy a channel': {
    query: `mutation Buy($input: LiquidityOrderInput!) {
  liquidity {
    buy(input: $input) {
      account { id session_key }
      order { transaction_id usd_cents }
      payment { lightning_invoice redirect_url amount { sats } }
    }
  }
}`,
    variables: { input: { connection_uri: '<pubkey>@<host>:<port>', usd_cents: '500' } },
  },
  'An order of yours': {
    query: `query Order($id: String!) {
  user {
    market {
      orders {
        get_order(order_id: $id) {
          id status payment_status size outpoint channel_id
          confirmations { confirmations }
          timeline { at fact status reason }
        }
      }
    }
  }
}`,
    variables: { id: '<transaction_id>' },
  },
  'Your orders': { query: '{ user { transactions { transaction_list { total_count list { id status created_at } } } } }' },
}

const element = (id) => document.getElementById(id)
const [form, example, query, variables, token, status, result] = [
  'request',
  'example',
  'query',
  'variables',
  'token',
  'status',
  'result',
].map(element)

for (const name of Object.keys(examples)) example.append(new Option(name))

function show() {
  const chosen = examples[example.value]
  query.value = chosen.query
  variables.value = JSON.stringify(chosen.variables ?? {}, null, 2)
}

async function send(event) {
  event.preventDefault()
  status.textContent = ''
  result.textContent = 'Waiting …'
  const startedMs = performance.now()
  try {
    // The whole address: a path that begins with two slashes would name another host.
    const response = await fetch(location.href.split(/[?#]/)[0], {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token.value && { authorization: `Bearer ${token.value}` }) },
      body: JSON.stringify({ query: query.value, variables: JSON.parse(variables.value || '{}') }),
    })
    status.textContent = `HTTP ${response.status}, ${Math.round(performance.now() - startedMs)} ms`
    result.textContent = JSON.stringify(await response.json(), null, 2)
  } catch (error) {
    result.textContent = String(error)
  }
}

example.addEventListener('change', show)
form.addEventListener('submit', (event) => void send(event))
form.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit()
})
show()
