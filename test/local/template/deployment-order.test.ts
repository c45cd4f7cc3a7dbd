// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how CloudFormation and IAM write placeholders
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deploymentOrder } from '../../../local/template/deployment-order.ts';
import type { TemplateResource } from '../../../local/template/template.ts';

const resource = (Properties: Record<string, unknown> = {}, DependsOn: string[] = []): TemplateResource => ({
  Type: 'AWS::SQS::Queue',
  Properties,
  DependsOn,
});

describe('the deployment order', () => {
  it('puts a resource after everything it depends on or refers to, in whatever way', () => {
    const order = deploymentOrder({
      Resources: {
        Last: resource(
          { a: { Ref: 'A' }, b: [{ 'Fn::GetAtt': ['B', 'Arn'] }], c: { 'Fn::GetAtt': 'C.Arn' }, d: { 'Fn::Sub': '${D.Arn}' } },
          ['E'],
        ),
        E: resource(),
        D: resource({ x: { 'Fn::Sub': ['${Last} ${v}', { Last: '', v: { Ref: 'E' } }] } }),
        C: resource({ x: { 'Fn::Sub': '${!Last} ${AWS::Region}' } }),
        B: resource(),
        A: resource(),
      },
    });
    expect(order).toEqual(['E', 'A', 'B', 'C', 'D', 'Last']);
  });

  it('keeps the order of the template where nothing else decides', () => {
    expect(deploymentOrder({ Resources: { C: resource(), A: resource(), B: resource() } })).toEqual(['C', 'A', 'B']);
  });

  it('refuses a circle and shows it', () => {
    const Resources = { A: resource({}, ['B']), B: resource({ x: { Ref: 'C' } }), C: resource({ x: { Ref: 'A' } }) };
    expect(() => deploymentOrder({ Resources })).toThrow('circular dependency between resources: A → B → C → A');
  });

  it('refuses to depend on what is not there', () => {
    expect(() => deploymentOrder({ Resources: { A: resource({}, ['Nothing']) } })).toThrow(/A\.DependsOn names 'Nothing'/);
  });

  it('holds every resource once and after its dependencies, for any template without circles', () => {
    const edges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 40 });
    fc.assert(
      fc.property(edges, fc.shuffledSubarray([...Array(12).keys()], { minLength: 12 }), (pairs, written) => {
        const dependencies = (id: number) => pairs.filter(([from, to]) => from === id && to < id).map(([, to]) => `R${to}`);
        const Resources = Object.fromEntries(written.map((id) => [`R${id}`, resource({}, dependencies(id))]));
        const order = deploymentOrder({ Resources });
        expect([...order].sort()).toEqual(Object.keys(Resources).sort());
        for (const id of written) {
          for (const dependency of dependencies(id)) expect(order.indexOf(dependency)).toBeLessThan(order.indexOf(`R${id}`));
        }
      }),
    );
  });
});
