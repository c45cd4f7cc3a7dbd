import { RemovalPolicy } from 'aws-cdk-lib';
import { HttpApi, HttpMethod, HttpStage, type IHttpRouteAuthorizer, LogGroupLogDestination } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Process } from './process.ts';

export interface WaybillHttpApiProps {
  readonly process: Process;
  /** Who may call. Default: principals of this account whose policies allow `execute-api:Invoke`. */
  readonly authorizer?: IHttpRouteAuthorizer;
  /** Requests per second, and the burst above it. The function has no reserved concurrency, so this is what bounds it. Default 50 and 100. */
  readonly throttle?: { readonly rateLimit: number; readonly burstLimit: number };
}

/** The way in for people and programs: the API below `/v1`, everything else the dashboard. */
export class WaybillHttpApi extends Construct {
  readonly url: string;

  constructor(scope: Construct, id: string, { process, authorizer = new HttpIamAuthorizer(), throttle }: WaybillHttpApiProps) {
    super(scope, id);
    const api = new HttpApi(this, 'HttpApi', { createDefaultStage: false, defaultAuthorizer: authorizer });
    const integration = new HttpLambdaIntegration('Function', process.function);
    api.addRoutes({ path: '/v1/{proxy+}', methods: [HttpMethod.ANY], integration });
    api.addRoutes({ path: '/', methods: [HttpMethod.GET], integration });
    api.addRoutes({ path: '/{proxy+}', methods: [HttpMethod.GET], integration });

    const accessLog = new LogGroup(this, 'AccessLog', { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY });
    const stage = new HttpStage(this, 'Stage', {
      httpApi: api,
      autoDeploy: true,
      throttle: throttle ?? { rateLimit: 50, burstLimit: 100 },
      accessLogSettings: { destination: new LogGroupLogDestination(accessLog) },
    });
    this.url = stage.url;
  }
}
