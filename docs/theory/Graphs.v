(** Graphs of operators without cycles: symbols, rules, summaries that nodes share, and contracts.
    docs/theory.md, "A graph without cycles"; absint/shapes/summaries.py.

    A rule gives a summary with holes for the numbers that it invents. Nodes of one operator with equal inputs share the
    summary, and each fills the holes with symbols of its own. *)

From Coq Require Import List.
Import ListNotations.

Set Implicit Arguments.

Section Graphs.
  Variables input node tag number : Type.
  Variable zero : number.
  Variable node_eq : forall n m : node, {n = m} + {n <> m}.

  Inductive symbol :=
  | Input (x : input)
  | Own (n : node) (t : tag)
  | Hole (t : tag).

  Definition is_hole s := match s with Hole _ => True | _ => False end.
  Definition valuation := symbol -> number.
  Definition agree (among : symbol -> Prop) (nu mu : valuation) := forall s, among s -> nu s = mu s.

  (** States mean values under a valuation, and a state whose symbols are renamed means what it says. *)
  Variables state value : Type.
  Variable means : valuation -> state -> value -> Prop.
  Variable rename : (symbol -> symbol) -> state -> state.
  Hypothesis renaming : forall rho nu a v, means nu (rename rho a) v <-> means (fun s => nu (rho s)) a v.

  Record summary := {
    output : state;
    required : valuation -> Prop;
    defined : valuation -> Prop
  }.

  Definition stated s nu := required s nu /\ defined s nu.

  Definition state_mentions (among : symbol -> Prop) a :=
    forall nu mu v, agree among nu mu -> means nu a v -> means mu a v.
  Definition mentions among s :=
    state_mentions among (output s) /\ forall nu mu, agree among nu mu -> stated s nu -> stated s mu.

  (** Operators, for one binding of the inputs: what they compute, where they run, and their rules. *)
  Variable operator : Type.
  Variable binding : input -> number.
  Variable runs : operator -> list value -> Prop.
  Variable computes : operator -> list value -> value -> Prop.
  Variable rule : operator -> list state -> summary.

  Definition extends (nu : valuation) := forall x, nu (Input x) = binding x.

  Definition rules_are_sound :=
    forall o states values v nu,
    extends nu -> Forall2 (means nu) states values -> computes o values v ->
    exists mu, agree (fun s => ~ is_hole s) mu nu /\
      means mu (output (rule o states)) v /\ stated (rule o states) mu.

  (** A rule is parametric: it speaks of the symbols of its inputs, and of its holes. *)
  Definition rules_are_parametric :=
    forall o states among,
    Forall (state_mentions among) states -> mentions (fun s => among s \/ is_hole s) (rule o states).

  Definition rules_are_complete :=
    forall o states values nu,
    extends nu -> Forall2 (means nu) states values -> required (rule o states) nu -> runs o values.

  (** The graph, and the states that an analysis gives to its nodes. *)
  Variable operator_of : node -> operator.
  Variable reads : node -> list node.
  Variable solution : node -> state.

  Definition own n s := match s with Hole t => Own n t | _ => s end.
  Definition filled n s := {|
    output := rename (own n) (output s);
    required := fun nu => required s (fun x => nu (own n x));
    defined := fun nu => defined s (fun x => nu (own n x))
  |}.
  Definition summary_at n := filled n (rule (operator_of n) (map solution (reads n))).
  Definition is_solution := forall n, solution n = output (summary_at n).

  Fixpoint ordered (before nodes : list node) :=
    match nodes with
    | [] => True
    | n :: rest => ~ In n before /\ incl (reads n) before /\ ordered (n :: before) rest
    end.

  (** The nodes have run, and computed these values. *)
  Definition has_run (nodes : list node) (values : node -> value) :=
    forall n, In n nodes -> computes (operator_of n) (map values (reads n)) (values n).

  Definition known before s :=
    match s with
    | Input _ => True
    | Own n _ => In n before
    | Hole _ => False
    end.

  Definition holds_at nu (values : node -> value) n :=
    means nu (solution n) (values n) /\ stated (summary_at n) nu.

  Hypothesis parametric : rules_are_parametric.
  Hypothesis solved : is_solution.

  Lemma agree_for_summaries n before (nu mu : valuation) :
    agree (known (n :: before)) nu mu ->
    agree (fun s => known before s \/ is_hole s) (fun s => nu (own n s)) (fun s => mu (own n s)).
  Proof. intros same [x | m t | t] inside; apply same; simpl in *; tauto. Qed.

  (** After the nodes [before], each stored state means what its node computed, and speaks of their symbols alone. *)
  Definition covered before nu values :=
    extends nu /\ forall n, In n before -> mentions (known before) (summary_at n) /\ holds_at nu values n.

  Lemma inputs_are_covered before nu values n :
    covered before nu values -> incl (reads n) before ->
    Forall (state_mentions (known before)) (map solution (reads n)) /\
    Forall2 (means nu) (map solution (reads n)) (map values (reads n)).
  Proof.
    intros [_ covers] within. induction (reads n) as [| m ms IH]; simpl; auto.
    assert (first : In m before) by (apply within; simpl; auto).
    destruct IH as [spoken meant]; [intros x inside; apply within; simpl; auto |].
    destruct (covers m first) as [[spoken_of _] [meant_by _]].
    split; constructor; auto. now rewrite solved.
  Qed.

  Lemma same_meanings among nu mu states values :
    agree among nu mu -> Forall (state_mentions among) states -> Forall2 (means nu) states values ->
    Forall2 (means mu) states values.
  Proof. intros same spoken meant. induction meant; inversion_clear spoken; constructor; eauto. Qed.

  Lemma next_node_is_covered before n nu values :
    rules_are_sound -> ~ In n before -> incl (reads n) before -> covered before nu values ->
    computes (operator_of n) (map values (reads n)) (values n) ->
    exists mu, covered (n :: before) mu values.
  Proof.
    intros sound new within is_covered computed.
    destruct (inputs_are_covered is_covered within) as [spoken meant].
    destruct is_covered as [extended covers].
    destruct (sound _ _ _ _ _ extended meant computed) as (chosen & same & out & statement).
    destruct (parametric (operator_of n) spoken) as [speaks states].
    set (mu := fun s => match s with Own m t => if node_eq m n then chosen (Hole t) else nu s | _ => nu s end).
    assert (old : agree (known before) nu mu).
    { intros [x | m t | t] inside; simpl in *; auto. destruct (node_eq m n); congruence. }
    assert (new_holes : agree (fun s => known before s \/ is_hole s) chosen (fun s => mu (own n s))).
    { intros [x | m t | t] inside; simpl in *.
      - apply same. simpl. tauto.
      - destruct (node_eq m n) as [-> |]; [tauto |]. apply same. simpl. tauto.
      - destruct (node_eq n n); congruence. }
    assert (more : forall a b : valuation, agree (known (n :: before)) a b -> agree (known before) a b).
    { intros a b agreed [x | m t | t] inside; apply agreed; simpl in *; tauto. }
    exists mu. split; [exact extended |]. intros m [<- | inside]; (split; [split | split]).
    - intros a b v agreed. unfold summary_at, filled. simpl. rewrite !renaming.
      apply speaks. now apply agree_for_summaries.
    - intros a b agreed. apply states. now apply agree_for_summaries.
    - rewrite solved. apply renaming. eapply speaks; eauto.
    - apply (states _ _ new_holes statement).
    - intros a b v agreed. apply (covers m inside). auto.
    - intros a b agreed. apply (covers m inside). auto.
    - destruct (covers m inside) as [[speak _] [meant_by _]]. rewrite solved in *. eapply speak; eauto.
    - destruct (covers m inside) as [[_ says] [_ stated_by]]. apply (says _ _ old stated_by).
  Qed.

  Lemma run_is_covered nodes before nu values :
    rules_are_sound -> ordered before nodes -> has_run nodes values -> covered before nu values ->
    exists mu, covered (rev nodes ++ before) mu values.
  Proof.
    intro sound. revert before nu. induction nodes as [| n rest IH]; simpl; intros before nu order computed covers.
    - eauto.
    - destruct order as (new & within & order).
      destruct (next_node_is_covered sound new within covers) as [mu more]; [apply computed; simpl; auto |].
      rewrite <- app_assoc. apply (IH _ mu order); auto. intros m inside. apply computed. simpl. auto.
  Qed.

  Definition initial : valuation := fun s => match s with Input x => binding x | _ => zero end.

  Lemma nothing_is_covered values : covered [] initial values.
  Proof. split; [now intro | contradiction]. Qed.

  (** One valuation extends the binding, and makes each stored state mean what its node computed. *)
  Theorem graph_is_sound nodes values :
    rules_are_sound -> ordered [] nodes -> has_run nodes values ->
    exists nu, extends nu /\ forall n, In n nodes -> holds_at nu values n.
  Proof.
    intros sound order computed.
    destruct (run_is_covered sound order computed (nothing_is_covered values)) as [nu [extended covers]].
    exists nu. split; auto. intros n inside. apply covers. rewrite in_app_iff, <- in_rev. auto.
  Qed.

  (** Proofs: what the statements entail holds in the run, of the numbers that the states mean there. *)
  Theorem entailed_relations_hold nodes values (relation : valuation -> Prop) :
    rules_are_sound -> ordered [] nodes -> has_run nodes values ->
    (forall nu, extends nu -> (forall n, In n nodes -> stated (summary_at n) nu) -> relation nu) ->
    exists nu, extends nu /\ (forall n, In n nodes -> means nu (solution n) (values n)) /\ relation nu.
  Proof.
    intros sound order computed entailed.
    destruct (graph_is_sound sound order computed) as [nu [extended holds]].
    exists nu. split; [| split]; auto; [| apply entailed; auto]; intros n inside; now apply holds.
  Qed.

  (** The contract: what all nodes require, for this binding and any invented numbers. *)
  Definition contract nodes := forall n nu, In n nodes -> extends nu -> required (summary_at n) nu.

  Definition about_inputs (p : valuation -> Prop) :=
    forall nu mu, (forall x, nu (Input x) = mu (Input x)) -> p nu -> p mu.

  Theorem contract_is_necessary nodes values :
    rules_are_sound -> ordered [] nodes -> (forall n, In n nodes -> about_inputs (required (summary_at n))) ->
    has_run nodes values -> contract nodes.
  Proof.
    intros sound order by_sizes computed n mu inside extended_mu.
    destruct (graph_is_sound sound order computed) as [nu [extended holds]].
    apply by_sizes with nu; [assumption | | apply holds, inside].
    intro x. now rewrite extended, extended_mu.
  Qed.

  (** No node fails: whatever the nodes before it computed, it runs. *)
  Theorem contract_is_sufficient before n after values :
    rules_are_sound -> rules_are_complete -> ordered [] (before ++ n :: after) -> contract (before ++ n :: after) ->
    has_run before values -> runs (operator_of n) (map values (reads n)).
  Proof.
    intros sound complete order met computed.
    assert (split : ordered [] before /\ incl (reads n) (rev before ++ [])).
    { clear -order. revert order. generalize (@nil node) as start.
      induction before as [| m rest IH]; simpl; intros start (new & within & order); [tauto |].
      destruct (IH _ order). rewrite <- app_assoc. tauto. }
    destruct split as [order_before within].
    destruct (run_is_covered sound order_before computed (nothing_is_covered values)) as [nu is_covered].
    destruct (inputs_are_covered is_covered within) as [spoken meant]. destruct is_covered as [extended _].
    apply complete with (map solution (reads n)) (fun s => nu (own n s)).
    - exact extended.
    - apply same_meanings with (known (rev before ++ [])) nu; auto. intros [x | m t | t] inside; auto. contradiction.
    - apply met; [rewrite in_app_iff; simpl; auto | exact extended].
  Qed.
End Graphs.

(** Two nodes that share the symbol of a summary claim that their numbers are equal. *)
Section Sharing.
  Let name := symbol Empty_set bool unit.
  Let number_of (nu : name -> nat) (a : name) v := nu a = v.
  Let any_number (_ : unit) (_ : list nat) (v : nat) := True.
  Let no_binding (x : Empty_set) : nat := match x with end.
  Let some_number (_ : unit) (_ : list name) : summary Empty_set bool unit nat name :=
    {| output := Hole _ _ tt; required := fun _ => True; defined := fun _ => True |}.
  Let numbers (n : bool) := if n then 64 else 5.

  Theorem nodes_may_not_share_symbols :
    rules_are_sound number_of no_binding any_number some_number /\
    has_run any_number (fun _ => tt) (fun _ => []) [true; false] numbers /\
    ~ exists nu, forall n, number_of nu (Own _ true tt) (numbers n).
  Proof.
    repeat split.
    - intros o states inputs v nu _ _ _. exists (fun s => match s with Hole _ _ _ => v | _ => nu s end).
      repeat split. intros [x | n t | t] other; auto. now destruct other.
    - intros [nu shared]. pose proof (shared true) as is_64. specialize (shared false). simpl in *. congruence.
  Qed.
End Sharing.
