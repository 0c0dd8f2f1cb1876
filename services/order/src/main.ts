import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { orderService } from './service.ts'

await runProcess('order', ({ externalWorld }) => {
  const { network, height } = externalWorld()
  return [bind(orderService, { network }, height)]
})
